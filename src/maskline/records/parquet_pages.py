"""The sizes of the pages of a Parquet file, read from their headers: a page is in memory as a whole.

A page of zeros is a thousandth of its size on disk, and the metadata at the end of the file count pages together. So
the headers are walked through: a struct of Thrift's compact protocol before each page (parquet.thrift, `PageHeader`).
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_UNCOMPRESSED, _COMPRESSED = 2, 3
"""Fields of a page header."""
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _STRUCT = (*range(1, 9), 12)
_FIXED = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}
"""Bytes of a value of these types; that of a truth value is in its type."""
_DEEPEST = 10


def page_sizes(path: Path, metadata: Any) -> Iterator[int]:
    """Yield the uncompressed bytes of every page, given the metadata of the file (`pyarrow.parquet.FileMetaData`).

    Raises:
        ValueError: there is no page where the metadata say.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for group in range(metadata.num_row_groups):
            row_group = metadata.row_group(group)
            for number in range(row_group.num_columns):
                yield from _chunk(content, row_group.column(number))


def _chunk(content: mmap.mmap, column: Any) -> Iterator[int]:
    offsets = [column.data_page_offset]
    if column.has_dictionary_page and column.dictionary_page_offset:
        offsets.append(column.dictionary_page_offset)
    position = min(offsets)
    end = position + column.total_compressed_size
    if position < 0 or end > len(content):
        raise ValueError("a column lies outside the file")
    while position < end:
        header = _Header(content, position)
        yield header.uncompressed
        position = header.end + header.compressed


class _Header:
    """The header of a page."""

    def __init__(self, content: mmap.mmap, position: int) -> None:
        self._content = content
        self.end = position
        fields = self._struct(0)
        self.uncompressed, self.compressed = (fields.get(field, -1) for field in (_UNCOMPRESSED, _COMPRESSED))
        if self.uncompressed < 0 or self.compressed < 0:
            raise ValueError("a page has no size")

    def _struct(self, depth: int) -> dict[int, int]:
        """Read a struct to its end; return its whole numbers by field."""
        if depth > _DEEPEST:
            raise ValueError("the header of a page is too deep")
        values: dict[int, int] = {}
        field = 0
        while (head := self._byte()) != 0:
            delta, kind = head >> 4, head & 15
            field = field + delta if delta else self._number()
            if kind in {_I16, _I32, _I64}:
                values[field] = self._number()
            elif kind == _STRUCT:
                self._struct(depth + 1)
            elif kind == _BINARY:
                length = self._varint()
                self.end += length
            elif kind in _FIXED:
                self.end += _FIXED[kind]
            else:  # lists, sets and maps, which no header of a page has
                raise ValueError("the header of a page is not as it should be")
        return values

    def _byte(self) -> int:
        if self.end >= len(self._content):
            raise ValueError("the header of a page is cut short")
        self.end += 1
        return self._content[self.end - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number in the header of a page is too long")
        return value | byte << shift

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
