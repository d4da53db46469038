"""The limits of time and memory within which a page is cleaned. A page that exceeds one is lost, and no other."""

from collections.abc import Callable, Generator, Iterable

from maskline.core import processes
from maskline.core.processes import Item, Result

SECONDS = 20
"""Processor time for one item: a hundred times that of the longest page that is read."""
MEMORY_BYTES = 3 << 30
"""Address space of one process, libraries included."""
AHEAD = 3
"""Most batches per process that are in memory: read, in work, or waiting for an earlier one."""


def in_order(
    function: Callable[[Item], Result],
    batches: Iterable[list[Item]],
    workers: int,
    *,
    seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
) -> Generator[tuple[Item, Result | None], None, None]:
    """Yield every item with the result of `function` for it; None if that exceeded a limit or raised an error.

    The arguments are those of `maskline.core.processes.in_order`.
    """
    return processes.in_order(function, batches, workers, ahead=AHEAD, seconds=seconds, memory_bytes=memory_bytes)
