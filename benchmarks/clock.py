"""A clock that can be stopped."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Seconds that are counted inside `running()`, save those inside `standing()`."""

    def __init__(self) -> None:
        self._before = 0.0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """Return what has been counted up to now."""
        return self._before + (0.0 if self._since is None else time.perf_counter() - self._since)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count inside the block."""
        self._since = time.perf_counter()
        try:
            yield
        finally:
            self._before, self._since = self.seconds, None

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Count nothing inside the block, which is inside one that counts."""
        self._before, self._since = self.seconds, None
        try:
            yield
        finally:
            self._since = time.perf_counter()
