"""The pages that may be articles, on disk between reading the dump and cleaning them.

What a template shows is known when the whole dump is read: its page may be the last. Reading twice would cost another
third, since decompressing is slow. The file has a third of the size of the XML and no name, so that it is gone whatever
ends the process.
"""

import json
import struct
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import Self

import pyarrow as pa

from maskline.core.errors import UserError
from maskline.sources.dump.download import DOWNLOADS
from maskline.sources.dump.pages import Page, SitePage
from maskline.sources.dump.siteinfo import Site

_LENGTHS = struct.Struct("<QQ")  # bytes compressed, and bytes


class Spool:
    """Batches of pages in a compressed temporary file, in order."""

    def __init__(self) -> None:
        DOWNLOADS.mkdir(parents=True, exist_ok=True)
        self._file = TemporaryFile(dir=DOWNLOADS)  # noqa: SIM115  # closed by `__exit__`
        self._codec = pa.Codec("zstd", 1)
        self._numbers: dict[Site, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, batch: list[SitePage]) -> None:
        """Append a batch.

        Raises:
            UserError: the disk is full.
        """
        heads = [
            (self._numbers.setdefault(site, len(self._numbers)), *fields, len(text)) for site, (*fields, text) in batch
        ]
        content = "".join((json.dumps(heads, ensure_ascii=False), "\n", *(page.text for _, page in batch))).encode()
        compressed = self._codec.compress(content, asbytes=True)
        try:
            self._file.write(_LENGTHS.pack(len(compressed), len(content)))
            self._file.write(compressed)
            self._file.flush()
        except OSError as error:
            raise UserError(
                f"{DOWNLOADS} has no room for the pages of the dump, a third of their XML ({error.strerror}): make room"
            ) from None

    def batches(self) -> Iterator[list[SitePage]]:
        """Yield the batches in their order."""
        sites = list(self._numbers)
        self._file.seek(0)
        while head := self._file.read(_LENGTHS.size):
            compressed, size = _LENGTHS.unpack(head)
            content = self._codec.decompress(self._file.read(compressed), size, asbytes=True).decode()
            at = content.index("\n") + 1
            batch = []
            for number, *fields, length in json.loads(content[:at]):
                batch.append((sites[number], Page._make((*fields, content[at : at + length]))))
                at += length
            yield batch
