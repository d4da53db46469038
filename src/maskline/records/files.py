"""Records (column -> value) from JSON lines, Parquet, CSV and TSV files, which may be gzipped.

A file that is not in the format that its name says raises a `UserError` that names the file, and the line if there is
one.
"""

import codecs
import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import IO, Any

from maskline.core.errors import UserError
from maskline.core.storage import sha256

Record = dict[str, Any]


def suffix(path: Path) -> str:
    """Return the suffix of the format: `.jsonl` for `a.jsonl.gz`."""
    return Path(path.stem).suffix if path.suffix == ".gz" else path.suffix


def find(patterns: Iterable[str], formats: Iterable[str], key: str, *, gzipped: bool = True) -> list[Path]:
    """Return the files that the globs of params.yaml's `key` match: pattern by pattern, sorted, each file once.

    `gzipped` says whether .gz may follow each of `formats`.

    Raises:
        UserError: there is no pattern, a pattern matches no file, or a file has none of `formats`.
    """
    paths: dict[Path, None] = {}
    for pattern in patterns:
        found = sorted(glob(pattern, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
        matched = [path for path in map(Path, found) if path.is_file()]
        if not matched:
            raise UserError(f"{key}: {pattern} matches no file (looked from {Path.cwd()}): correct the glob")
        paths |= dict.fromkeys(matched)
    if not paths:
        raise UserError(f"{key} is empty: give one or more globs of {', '.join(formats)} files")
    for path in paths:
        if (suffix(path) if gzipped else path.suffix) not in formats:
            also = " (.gz may follow)" if gzipped else ""
            raise UserError(f"{path} is none of {', '.join(formats)}{also}: unpack it, or name it as what it is")
    return list(paths)


def describe(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return what a manifest says about input files: names, sizes and hashes, without their directories."""
    return [{"name": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)} for path in paths]


@contextmanager
def open_text(path: Path, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """Open a text file, gzipped or not, with its own newlines and without a byte order mark.

    Raises:
        UserError: the encoding is unknown or not that of the file, or the gzip file is damaged.
    """
    try:
        name = codecs.lookup(encoding).name
        "x".encode(name)  # fails for codecs such as base64, which do not encode text
    except (LookupError, ValueError):
        raise UserError(
            f"{encoding} is not an encoding of Python's: use one such as utf-8, latin-1 or mac_roman"
        ) from None
    opened: Callable[..., IO[str]] = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig" if name == "utf-8" else name, newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise _misread(path, name, f"{error.reason} {error.object[error.start]:#04x}") from None
    except UnicodeError as error:  # UTF-16 without a byte order mark
        raise _misread(path, name, error) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path} is not a complete gzip file ({error}): fetch it again") from None


def _misread(path: Path, encoding: str, reason: object) -> UserError:
    return UserError(f"{path} is not {encoding} ({reason}): convert it, or (of a task) name its encoding")


def read_jsonl(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the JSON object in each line that is not blank."""
    with open_text(path, encoding) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(
                    f"{path}, line {number} is not valid JSON ({error}): correct or remove the line"
                ) from None
            if not isinstance(record, dict):
                raise UserError(f"{path}, line {number} is not a JSON object: write one, {{...}}, on each line")
            yield record


def read_parquet(path: Path, _encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the rows of a Parquet file, a thousand in memory at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(1_000):
                yield from batch.to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # OSError: a block that does not decompress
        raise UserError(f"{path} is not a readable Parquet file ({error}): fetch it again") from None


def read_csv(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the rows of a CSV file with a header (RFC 4180)."""
    with open_text(path, encoding) as file:
        yield from parse_csv(file, str(path), strict=True)


def read_tsv(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the rows of a TSV file with a header; quotation marks are text."""
    with open_text(path, encoding) as file:
        yield from parse_csv(file, str(path), delimiter="\t", quoting=csv.QUOTE_NONE)


def parse_csv(lines: Iterable[str], name: str, **dialect: Any) -> Iterator[Record]:
    """Yield the rows below a header; errors name the file as `name`.

    Raises:
        UserError: a row has more or fewer fields than the header, or the quoting is broken.
    """
    reader = csv.reader(lines, **dialect)
    try:
        header = next(reader, [])
        for row in reader:
            if row and len(row) != len(header):
                raise UserError(
                    f"{name}, line {reader.line_num} has {len(row)} fields, the header has {len(header)}: "
                    "quote the fields that hold a delimiter"
                )
            if row:
                yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise UserError(f"{name}, line {reader.line_num}: {error}; correct or remove the line") from None


def field(record: Record, column: str, name: str) -> str:
    """Return a column of a record as text, "" for null; errors name the file as `name`.

    Raises:
        UserError: there is no such column, or its value is neither text nor a number.
    """
    if column not in record:
        raise UserError(f"{name} has no column {column}: it has {', '.join(map(str, record))}")
    value = record[column]
    if isinstance(value, dict | list | bytes):
        raise UserError(f"{name}: column {column} holds {type(value).__name__}, not text: name another")
    return "" if value is None else str(value)
