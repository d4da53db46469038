"""Work in processes with limits of time and memory, results in order. Only an item that exceeds a limit is lost.

The limits are processor time and address space. The kernel enforces them whatever the code does and however busy the
machine is: a process that exceeds one ends. Its batch is then done again in a new process, item by item, which shows
the item that failed.
"""

import resource
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

SECONDS = 20
"""Processor time for one item: a hundred times that of the longest page that is read."""
MEMORY_BYTES = 3 << 30
"""Address space of one process, libraries included."""
AHEAD = 3
"""Most batches per process that are in memory: read, in work, or waiting for an earlier one."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    function: Callable[[Item], Result],
    batches: Iterable[list[Item]],
    workers: int,
    *,
    seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
) -> Iterator[tuple[Item, Result | None]]:
    """Yield every item with the result of `function` for it; None if that exceeded a limit or raised an error.

    Args:
        function: a module's function, since the processes import it; it, its arguments and its results are pickled.
        batches: the items, with enough in each that sending a batch costs little.
        workers: the number of processes.
        seconds: processor time for one item.
        memory_bytes: address space of one process.

    Raises:
        RuntimeError: a process cannot even start.
    """
    pool = [_Worker(function, seconds, memory_bytes) for _ in range(workers)]
    jobs: Iterator[_Job[Item, Result]] = map(_Job, batches)
    ordered: deque[_Job[Item, Result]] = deque()
    waiting: deque[_Job[Item, Result]] = deque()
    try:
        while True:
            while len(ordered) < AHEAD * workers and (job := next(jobs, None)):
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
        except (EOFError, ConnectionResetError):
            if not self._ready:
                raise RuntimeError(
                    f"a process that cleans pages does not start (exit {self._process.exitcode})"
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


def _serve(connection: Connection, function: Callable[[Any], Any], seconds: float, memory_bytes: int) -> None:
    """Answer each batch of items with its results, until the other side ends."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        connection.send("ready")
        while True:
            connection.send([_limited(function, item, seconds) for item in connection.recv()])


def _limited(function: Callable[[Any], Any], item: Any, seconds: float) -> Any:
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)  # its signal ends a process that does not handle it
    try:
        return function(item)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
