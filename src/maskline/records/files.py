"""Records out of files: JSON lines, Parquet, CSV and TSV, gzipped or not, each an iterator of column -> value.

A file that cannot be read as what its name says is an error that names it, and the line where there is one.
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
    """Return the suffix that says the format, `.jsonl` of `a.jsonl.gz`."""
    return Path(path.stem).suffix if path.suffix == ".gz" else path.suffix


def find(patterns: Iterable[str], formats: Iterable[str], key: str, *, gzipped: bool = True) -> list[Path]:
    """Return the files that the globs of params.yaml's `key` match: pattern by pattern, sorted, each file once.

    `gzipped` says that .gz may follow each of `formats`.

    Raises:
        UserError: there is no pattern, a pattern matches no file, or a file is of none of `formats`.
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
    """Return what a manifest says about input files: names and hashes, no directories of this machine."""
    return [{"name": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)} for path in paths]


@contextmanager
def open_text(path: Path, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """Open a text file, gzipped or not, with the newlines that it has; a byte order mark is no text.

    Raises:
        UserError: the encoding is unknown or not that of the file, or the compressed file is damaged.
    """
    try:
        name = codecs.lookup(encoding).name
        "x".encode(name)  # refuses what is no encoding of text
    except (LookupError, ValueError):
        raise UserError(f"{encoding} is no encoding that Python knows: utf-8, latin-1 and mac_roman are some") from None
    opened: Callable[..., IO[str]] = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig" if name == "utf-8" else name, newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise _misread(path, name, f"{error.reason} {error.object[error.start]:#04x}") from None
    except UnicodeError as error:  # UTF-16 without the mark that tells the order of its bytes
        raise _misread(path, name, error) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path} is no whole gzip file ({error}): fetch it again") from None


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
                raise UserError(f"{path}, line {number} is no JSON ({error}): mend or remove the line") from None
            if not isinstance(record, dict):
                raise UserError(f"{path}, line {number} is no JSON object: each line is one, {{...}}")
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
        raise UserError(f"{path} is no readable Parquet ({error}): fetch it again") from None


def read_csv(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the rows of a CSV file with a header, as RFC 4180 quotes them."""
    with open_text(path, encoding) as file:
        yield from parse_csv(file, str(path), strict=True)


def read_tsv(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the rows of a TSV file with a header; quotes in it are text."""
    with open_text(path, encoding) as file:
        yield from parse_csv(file, str(path), delimiter="\t", quoting=csv.QUOTE_NONE)


def parse_csv(lines: Iterable[str], name: str, **dialect: Any) -> Iterator[Record]:
    """Yield the rows below a header; `name` is named in errors.

    Raises:
        UserError: a row has another number of fields than the header, or the quoting is broken.
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
        raise UserError(f"{name}, line {reader.line_num}: {error}; mend or remove the line") from None


def field(record: Record, column: str, name: str) -> str:
    """Return a column of a record as text, "" for null; `name` says in errors where the record is from.

    Raises:
        UserError: there is no such column, or it holds no text or number.
    """
    if column not in record:
        raise UserError(f"{name} has no column {column}: it has {', '.join(map(str, record))}")
    value = record[column]
    if isinstance(value, dict | list | bytes):
        raise UserError(f"{name}: column {column} holds {type(value).__name__}, not text: name another")
    return "" if value is None else str(value)
