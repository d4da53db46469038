"""Work in processes, results in order. A process that ends costs only the item that it was at.

Each process has a pipe of its own: what one that was killed has written in part holds nobody else up. Its batch is then
done again in a new process, item by item, which shows the item that failed.

Processor time and address space of a process may have limits. The kernel enforces them whatever the code does and
however busy the machine is: a process that exceeds one ends.
"""

import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from maskline.core.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    function: Callable[[Item], Result],
    batches: Iterable[list[Item]],
    workers: int,
    *,
    ahead: int,
    seconds: float | None = None,
    memory_bytes: int | None = None,
) -> Generator[tuple[Item, Result | None], None, None]:
    """Yield every item with the result of `function` for it; None if the process ended: killed, or by an error.

    Args:
        function: a module's function, since the processes import it; it, its arguments and its results are pickled.
        batches: the items, with enough in each that sending a batch costs little.
        workers: the number of processes.
        ahead: most batches per process that are in memory: read, in work, or waiting for an earlier one.
        seconds: processor time for one item; None: no limit.
        memory_bytes: address space of one process, libraries included; None: no limit.

    Raises:
        UserError: a process cannot even start.
    """
    pool = [_Worker(function, seconds, memory_bytes) for _ in range(workers)]
    jobs: Iterator[_Job[Item, Result]] = map(_Job, batches)
    ordered: deque[_Job[Item, Result]] = deque()
    waiting: deque[_Job[Item, Result]] = deque()
    try:
        while True:
            while len(ordered) < ahead * workers and (job := next(jobs, None)):
                ordered.append(job)
                waiting.append(job)
            for worker in pool:
                if worker.job is None and waiting:
                    worker.give(waiting.popleft())
            if not ordered:
                return
            busy = {worker.connection: worker for worker in pool if worker.job}
            for connection in wait(list(busy)):
                waiting.extendleft(reversed(busy[connection].take()))  # type: ignore[index]
            while ordered and ordered[0].done:
                yield from ordered.popleft().outcome()
    finally:
        for worker in pool:
            worker.end()


@dataclass
class _Job(Generic[Item, Result]):
    """A batch of items, and its results."""

    items: list[Item]
    results: list[Result | None] = field(default_factory=list)
    parts: "list[_Job[Item, Result]]" = field(default_factory=list)
    """The jobs of one item each that replace it after it failed."""

    @property
    def done(self) -> bool:
        return all(part.done for part in self.parts) if self.parts else len(self.results) == len(self.items)

    def outcome(self) -> Iterator[tuple[Item, Result | None]]:
        if self.parts:
            return chain.from_iterable(part.outcome() for part in self.parts)
        return zip(self.items, self.results, strict=True)

    def fail(self) -> "list[_Job[Item, Result]]":
        """Return the jobs to do instead: one for each item, or none if this job has only one item."""
        if len(self.items) == 1:
            self.results = [None]
        else:
            self.parts = [_Job([item]) for item in self.items]
        return self.parts


class _Worker:
    """A process and its current job."""

    job: _Job[Any, Any] | None = None

    def __init__(self, *task: Any) -> None:
        self._task = task
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")  # a fork would copy locks that threads of this process hold
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, *self._task), daemon=True)
        resource_tracker.ensure_running()  # it starts with the first process otherwise, and lets Ctrl-C through again
        # Only this process handles Ctrl-C, and ends the others.
        former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)
        other.close()
        self._ready = False

    def give(self, job: _Job[Any, Any]) -> None:
        self.job = job
        with suppress(BrokenPipeError, ConnectionResetError):  # the process has ended; `take` handles that
            self.connection.send(job.items)

    def take(self) -> list[_Job[Any, Any]]:
        """Receive a message of the process; return the jobs to do again."""
        assert self.job is not None
        try:
            message = self.connection.recv()
        except (EOFError, OSError):  # OSError: it ended amid a message
            if not self._ready:
                self._process.join()
                raise UserError(
                    f"a process that shares the work does not start (exit {self._process.exitcode}), "
                    "most likely for want of memory: lower compute.workers"
                ) from None
            job, self.job = self.job, None
            self.end()
            self._start()
            return job.fail()
        if self._ready:
            self.job.results, self.job = message, None
        self._ready = True
        return []

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(
    connection: Connection, function: Callable[[Any], Any], seconds: float | None, memory_bytes: int | None
) -> None:
    """Answer each batch of items with its results, until the other side ends."""
    if memory_bytes is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        connection.send("ready")
        while True:
            connection.send([_limited(function, item, seconds) for item in connection.recv()])


def _limited(function: Callable[[Any], Any], item: Any, seconds: float | None) -> Any:
    if seconds is None:
        return function(item)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)  # its signal ends a process that does not handle it
    try:
        return function(item)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
