"""What many ask for, gathered into batches that one thread computes.

A request that does not fit into one batch is computed in parts, and takes turns with the others: a thousand texts
hold up a single one no longer than a batch takes.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from maskline.serving.refusals import BusyError, UnavailableError

BATCH_TOKENS = 4096
"""What is computed at once, unless one input alone is longer."""
INERTIA = 0.9
"""Weight of the past in the mean speed."""
CLOSING_SECONDS = 10.0
"""How long the batch at work may take when all is to end."""

Compute = Callable[[Sequence[Any]], Sequence[Any]]
"""Returns a result for each input; it does not depend, but for rounding, on the others."""


@dataclass(eq=False)
class Request:
    """What one client asks for."""

    key: Hashable
    """Those of one key can be computed together."""
    compute: Compute
    inputs: Sequence[Any]
    sizes: Sequence[int]
    """Tokens of each input."""
    answer: "Future[list[Any]]" = field(default_factory=Future)
    results: list[Any] = field(default_factory=list)
    taken: int = 0
    """How many of the inputs were computed, or are being computed."""
    waiting: int = field(init=False)
    """Tokens of the others."""

    def __post_init__(self) -> None:
        self.waiting = sum(self.sizes)

    def take(self, end: int) -> "Part":
        """Return the inputs from those that were taken up to `end`, which is not included."""
        tokens = sum(self.sizes[self.taken : end])
        part = Part(self, self.inputs[self.taken : end], tokens)
        self.taken, self.waiting = end, self.waiting - tokens
        return part


@dataclass(frozen=True)
class Part:
    """Some inputs of a request, as a part of a batch."""

    request: Request
    inputs: Sequence[Any]
    tokens: int


class Batcher:
    """A queue of requests, and the thread that computes them."""

    def __init__(
        self,
        most_waiting: int,
        batch_tokens: int = BATCH_TOKENS,
        computed: Callable[[int, int, float], None] = lambda *_: None,
    ) -> None:
        """Start the thread.

        Args:
            most_waiting: tokens. A request that finds nothing waiting may have more.
            batch_tokens: what is computed at once, unless one input alone is longer.
            computed: told of each batch the inputs, the tokens and the seconds.
        """
        self._most_waiting = most_waiting
        self._batch_tokens = batch_tokens
        self._computed = computed
        self._changed = threading.Condition()
        self._queue: deque[Request] = deque()
        self._speed = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="model", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Return how many tokens are waiting."""
        with self._changed:
            return self._waiting()

    def _waiting(self) -> int:
        return sum(request.waiting for request in self._queue)

    def ask(self, request: Request) -> "Future[list[Any]]":
        """Put a request at the end of the queue, and return its answer to come; who cancels it takes it out again.

        Raises:
            BusyError: too much is waiting already.
            UnavailableError: the server stops.
        """
        with self._changed:
            if self._closed:
                raise UnavailableError("the server stops: ask another")
            waiting = self._waiting()
            if waiting and waiting + request.waiting > self._most_waiting:
                raise BusyError(max(1, ceil(waiting / self._speed)) if self._speed else 1)
            self._queue.append(request)
            self._changed.notify()
        request.answer.add_done_callback(lambda _: self._drop(request))
        return request.answer

    def _drop(self, request: Request) -> None:
        with self._changed, suppress(ValueError):
            self._queue.remove(request)

    def close(self) -> None:
        """End the thread after the batch that it is at; what is waiting then gets no answer."""
        with self._changed:
            self._closed = True
            left = list(self._queue)
            self._changed.notify()
        for request in left:
            request.answer.cancel()
        self._thread.join(CLOSING_SECONDS)

    def _work(self) -> None:
        while parts := self._take():
            started = time.perf_counter()
            due = self._compute(parts)
            seconds, tokens = time.perf_counter() - started, sum(part.tokens for part in parts)
            speed = tokens / max(seconds, 1e-6)
            with self._changed:
                self._speed = INERTIA * self._speed + (1 - INERTIA) * speed if self._speed else speed
            self._computed(sum(len(part.inputs) for part in parts), tokens, seconds)
            for request, error in due:  # once it is counted: who has an answer finds it among the counts
                with suppress(InvalidStateError):
                    request.answer.set_exception(error) if error else request.answer.set_result(request.results)

    def _take(self) -> list[Part]:
        """Wait for requests, and return the next batch; nothing when all is to end.

        Of each request of the key of the first one, as many inputs as fit. What has more of them goes to the end.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed)
            if self._closed:
                return []
            key, room = self._queue[0].key, self._batch_tokens
            parts: list[Part] = []
            for request in [request for request in self._queue if request.key == key]:
                end = request.taken
                while end < len(request.sizes) and (request.sizes[end] <= room or not (parts or end > request.taken)):
                    room -= request.sizes[end]
                    end += 1
                if end == request.taken:
                    break
                parts.append(request.take(end))
                self._queue.remove(request)
                if end < len(request.sizes):
                    self._queue.append(request)
            return parts

    def _compute(self, parts: Sequence[Part]) -> list[tuple[Request, Exception | None]]:
        """Compute a batch; return the requests of which nothing is left to compute, or which failed, and why.

        Where a batch fails, each part is computed alone, so that only the one at fault has no answer.
        """
        inputs = [one for part in parts for one in part.inputs]
        error: Exception | None = None
        try:
            found = list(parts[0].request.compute(inputs))
        except Exception as raised:  # noqa: BLE001  # whatever it is, the thread goes on
            error = raised
        if error is not None:
            if len(parts) > 1:
                return [due for part in parts for due in self._compute([part])]
            return [(parts[0].request, error)]
        due: list[tuple[Request, Exception | None]] = []
        for part in parts:
            request = part.request
            request.results += found[: len(part.inputs)]
            del found[: len(part.inputs)]
            if len(request.results) == len(request.inputs):
                due.append((request, None))
        return due
