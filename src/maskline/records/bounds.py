"""Bounds on files of strangers that a library reads which has none of its own; they are looked at before it begins."""

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

import numpy as np

from maskline.core.errors import UserError, one_line

SMALL_BYTES = 1 << 28
"""What any compressed file may unpack to."""
EXPANSION = 100
"""How many times its size a larger one may unpack to: text has ten times, and what is made to do harm a thousand."""
MOST_DEPTH = 500
"""Levels of nested JSON. At some ten thousand, the parser below `datasets` takes the process down."""
LONGEST_STRING = 1 << 26
"""Bytes of a string in JSON."""
_CHUNK = 1 << 22
_OPENERS: dict[bytes, Callable[[Path], IO[bytes]]] = {
    b"\x1f\x8b": gzip.open,  # type: ignore[dict-item]
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_ZIP = b"PK"
_OTHERS = {b'\x04"M\x18': "lz4", b"(\xb5/\xfd": "zstd"}
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_LEVELS = np.zeros(256, np.int8)
_LEVELS[list(b"[{")], _LEVELS[list(b"]}")] = 1, -1


def check_bounds(path: Path, *, json: bool) -> None:
    """Check that a file, compressed or not and whatever its name, does not unpack to far more than text does.

    Args:
        path: the file.
        json: whether it is JSON, whose depth and strings have bounds as well.

    Raises:
        UserError: it does, or it is damaged, or compressed in a way that cannot be looked into.
    """
    with path.open("rb") as file:
        mark = file.read(8)
    if not json and not mark.startswith((*_OPENERS, *_OTHERS, _ZIP)):
        return
    most = max(SMALL_BYTES, EXPANSION * path.stat().st_size)
    size, level, rest = 0, 0, b""
    try:
        for chunk in _unpacked(path, mark):
            size += len(chunk)
            if size > most:
                raise UserError(f"{path} unpacks to more than {most:,} bytes, which text does not: do not use it")
            if json:
                level, rest = _follow(rest + chunk, level, path)
    except (OSError, EOFError, RuntimeError, zlib.error, lzma.LZMAError, BadZipFile) as error:
        raise UserError(f"{path} cannot be unpacked ({one_line(error)}): fetch it again") from None


def _unpacked(path: Path, mark: bytes) -> Iterator[bytes]:
    """Yield the content of a file that begins with `mark`."""
    if other := next((name for beginning, name in _OTHERS.items() if mark.startswith(beginning)), None):
        raise UserError(f"{path} is compressed by {other}: unpack it, or use gzip")
    if mark.startswith(_ZIP):
        with ZipFile(path) as archive:
            for info in archive.infolist():
                with archive.open(info) as file:
                    yield from iter(lambda file=file: file.read(_CHUNK), b"")  # type: ignore[misc]
        return
    opener = next((opener for beginning, opener in _OPENERS.items() if mark.startswith(beginning)), None)
    with opener(path) if opener else path.open("rb") as file:
        yield from iter(lambda: file.read(_CHUNK), b"")


def _follow(content: bytes, level: int, path: Path) -> tuple[int, bytes]:
    """Return the level of nested JSON after `content`, which begins at `level`, and a string that it does not end."""
    outside, quote, rest = _STRING.sub(b"", content).partition(b'"')
    levels = level + np.cumsum(_LEVELS[np.frombuffer(outside, np.uint8)], dtype=np.int64)
    if len(levels):
        level = int(levels[-1])
        if levels.max() > MOST_DEPTH:
            raise UserError(f"{path} has JSON of more than {MOST_DEPTH:,} levels: do not use it")
    if len(rest) > LONGEST_STRING:
        raise UserError(f"{path} has a string of more than {LONGEST_STRING:,} bytes: break it up, or remove it")
    return level, quote + rest
