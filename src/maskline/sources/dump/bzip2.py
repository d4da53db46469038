"""bzip2, decompressed by several threads.

A file of bzip2 is a row of blocks of at most 900 kB, which do not depend on each other and begin at any bit. Each is
made a file of its own here and given to a thread: decompressing is most of the work of reading a dump, and Python lets
other threads work meanwhile.
"""

import bz2
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

_BLOCK, _END = 0x314159265359, 0x177245385090
"""The first 48 bits of a block, and the first 48 bits behind the last block."""
_READ = 1 << 20
LONGEST = 4_000_000
"""Most bytes of a compressed block; one of 900 kB has about as many at worst."""


def decompressed(path: Path, threads: int) -> Iterator[bytes]:
    """Yield the content of a file of bzip2 in order; `threads` blocks are decompressed at once.

    Raises:
        OSError, EOFError: the file is damaged, or ends too soon.
    """
    with path.open("rb") as file, ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[bytes]] = deque()
        for block in _blocks(file):
            waiting.append(pool.submit(bz2.decompress, block))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield each block of a file as a file of bzip2."""
    data = file.read(_READ)
    if data[:3] != b"BZh":
        raise OSError("Invalid data stream")
    end = 0  # the bit of `data` at which the last block ended
    start = None  # the bit of `data` at which the open block begins
    searched = 0  # the bits of `data` before this are known to begin nothing
    while True:
        more = file.read(_READ)
        for place, kind in _marks(data + more, searched):
            if start is not None:
                yield _file_of(data + more, start, place)
            start = place if kind == _BLOCK else None
            searched, end = place + 48, place
        if not more:
            break
        data += more
        keep = min(start if start is not None else 8 * len(data), max(searched, 8 * len(data) - 56)) // 8
        if len(data) - keep > LONGEST:
            raise OSError("a block has no end")
        size = 8 * (len(data) - keep)
        data, start, end = data[keep:], None if start is None else start - 8 * keep, end - 8 * keep
        searched = max(0, size - 56)
    if start is not None or end + 80 > 8 * len(data):  # the sum over all blocks follows the end
        raise EOFError("Compressed file ended before the end-of-stream marker was reached")


def _marks(data: bytes, begin: int) -> list[tuple[int, int]]:
    """Return the bits from `begin` on at which a block, or the end of the last one, begins, and which of them it is."""
    found = []
    for kind in (_BLOCK, _END):
        for shift in range(8):
            middle = (kind >> shift & (1 << 40) - 1).to_bytes(5, "big")
            at = data.find(middle, begin // 8)
            while at > 0:
                place = 8 * (at - 1) + shift
                if (
                    place >= begin
                    and at + 6 <= len(data)
                    and int.from_bytes(data[at - 1 : at + 6], "big") >> 8 - shift & (1 << 48) - 1 == kind
                ):
                    found.append((place, kind))
                at = data.find(middle, at + 1)
    return sorted(found)


def _file_of(data: bytes, start: int, end: int) -> bytes:
    """Return the block in the bits from `start` to `end` of `data` as a file of bzip2."""
    size = end - start
    bits = int.from_bytes(data[start // 8 : -(-end // 8)], "big") >> -end % 8 & (1 << size) - 1
    checksum = bits >> size - 80 & (1 << 32) - 1  # that of the block is that of a file which has no other
    bits = (bits << 48 | _END) << 32 | checksum
    return b"BZh9" + (bits << -size % 8).to_bytes(-(-(size + 80) // 8), "big")
