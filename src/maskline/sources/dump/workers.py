"""Work in processes that can be ended, with results in order: an item that hangs or eats the memory costs itself alone.

The limits are processor time and address space, which the kernel holds whatever the code is doing and however busy the
machine is. A process that exceeds one is gone; its batch is done again item by item in a new one, so that the item at
fault is known and no other is lost.
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
"""Processor time for one item: a hundred times what the longest page takes that is let in."""
MEMORY_BYTES = 3 << 30
"""Address space of one process, libraries included."""
AHEAD = 3
"""Batches per process that are read, worked on, or wait for an earlier one: they bound the memory."""

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
    """Yield every item with what `function` returns for it, None where that exceeded a limit or raised.

    Args:
        function: a function of a module, for the processes import it; it and what it takes and returns are pickled.
        batches: the items, so many in each that sending them costs little.
        workers: processes.
        seconds: of processor time for one item.
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
    """A batch on its way."""

    items: list[Item]
    results: list[Result | None] = field(default_factory=list)
    parts: "list[_Job[Item, Result]]" = field(default_factory=list)
    """What it was cut into after it failed."""

    @property
    def done(self) -> bool:
        return all(part.done for part in self.parts) if self.parts else len(self.results) == len(self.items)

    def outcome(self) -> Iterator[tuple[Item, Result | None]]:
        if self.parts:
            return chain.from_iterable(part.outcome() for part in self.parts)
        return zip(self.items, self.results, strict=True)

    def fail(self) -> "list[_Job[Item, Result]]":
        """Return what is to be tried again: the items one by one, or nothing where it was a single one."""
        if len(self.items) == 1:
            self.results = [None]
        else:
            self.parts = [_Job([item]) for item in self.items]
        return self.parts


class _Worker:
    """A process, and the job that it has."""

    job: _Job[Any, Any] | None = None

    def __init__(self, *task: Any) -> None:
        self._task = task
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")  # a fork would copy the locks of the threads of this process
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, *self._task), daemon=True)
        former = signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGINT}
        )  # Ctrl-C is for this process, which ends those
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)
        other.close()
        self._ready = False

    def give(self, job: _Job[Any, Any]) -> None:
        self.job = job
        with suppress(BrokenPipeError, ConnectionResetError):  # it is gone, as `take` will notice
            self.connection.send(job.items)

    def take(self) -> list[_Job[Any, Any]]:
        """Receive what the process has to say; return the jobs that are to be done again."""
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
    """Answer each batch of items with its results, until the other side is gone."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        connection.send("ready")
        while True:
            connection.send([_limited(function, item, seconds) for item in connection.recv()])


def _limited(function: Callable[[Any], Any], item: Any, seconds: float) -> Any:
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)  # whose signal ends a process that does not handle it
    try:
        return function(item)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
