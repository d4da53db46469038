"""Records (column -> value) from JSON lines, Parquet, CSV and TSV files, which may be gzipped.

A file that is not in the format that its name says raises a `UserError` that names the file, and the line if there is
one. A small file may expand without end: a line, a row and a page have limits.
"""

import codecs
import csv
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import IO, Any

from maskline.core.errors import UserError, one_line, quoted
from maskline.core.storage import DVC_COPIES, sha256
from maskline.records.parquet_pages import page_sizes

Record = dict[str, Any]

LONGEST_LINE = 1 << 24
"""Characters of a line, and of a row of CSV. The Bible has a quarter of them."""
PAGE_BYTES = 1 << 29
"""Most bytes of a page of a Parquet file, unpacked."""
BATCH_BYTES = 1 << 30
"""Most bytes of a column that are unpacked at once: a row may refer to all of a page."""
BATCH_ROWS = 1_000
SEPARATORS = {"\t": "a tab", ";": "a semicolon", "|": "a bar", ",": "a comma"}
_QUOTED = re.compile(r'"[^"]*"')


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
            raise UserError(f"{key}: {pattern} matches no file (looked from {Path.cwd()}): {_remedy(pattern)}")
        paths |= dict.fromkeys(matched)
    if not paths:
        raise UserError(f"{key} is empty: give one or more globs of {', '.join(formats)} files")
    for path in paths:
        if (suffix(path) if gzipped else path.suffix) not in formats:
            also = " (.gz may follow)" if gzipped else ""
            raise UserError(f"{path} is none of {', '.join(formats)}{also}: unpack it, or name it as what it is")
    return list(paths)


def _remedy(pattern: str) -> str:
    """Return the way out where a glob matches nothing; DVC runs `--temp` and queues in a copy of what git tracks."""
    if not Path(pattern).is_absolute() and DVC_COPIES in Path.cwd().as_posix():
        return "a run with --temp or of the queue has what git tracks: `git add -N` the files, or give the full path"
    return "correct the glob, which is relative to that folder"


def describe(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return what a manifest says about input files: names, sizes and hashes, without their directories."""
    return [{"name": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)} for path in paths]


@contextmanager
def open_text(path: Path, encoding: str = "utf-8") -> Iterator[Iterator[str]]:
    """Open a text file, gzipped or not, as its lines, with their own newlines and without a byte order mark.

    Raises:
        UserError: the encoding is unknown or not that of the file, the gzip file is damaged, or a line is longer than
            LONGEST_LINE.
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
            yield _lines(file, path)
    except UnicodeDecodeError as error:
        raise _misread(path, name, f"{error.reason} {error.object[error.start]:#04x}") from None
    except UnicodeError as error:  # UTF-16 without a byte order mark
        raise _misread(path, name, error) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path} is not a complete gzip file ({error}): fetch it again") from None


def _lines(file: IO[str], path: Path) -> Iterator[str]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise UserError(
                f"{path}, line {number} has more than {LONGEST_LINE:,} characters: break it up, or remove it"
            )
        yield line


def _misread(path: Path, encoding: str, reason: object) -> UserError:
    return UserError(f"{path} is not {encoding} ({reason}): convert it, or (of a task) name its encoding")


class _RepeatedKeyError(ValueError):
    """A key that an object has twice."""


def read_jsonl(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the JSON object in each line that is not blank; a number that is NaN is missing.

    Raises:
        UserError: a line is no JSON object, or has a key twice.
    """
    with open_text(path, encoding) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line, parse_constant=_constant, object_pairs_hook=_object)
            except _RepeatedKeyError as error:
                raise UserError(f"{path}, line {number} has the key {error} twice: keep one of them") from None
            except (ValueError, RecursionError) as error:
                raise UserError(
                    f"{path}, line {number} is not valid JSON ({one_line(error)}): correct or remove the line"
                ) from None
            if not isinstance(record, dict):
                raise UserError(f"{path}, line {number} is not a JSON object: write one, {{...}}, on each line")
            yield record


def _object(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _RepeatedKeyError(quoted(_repeated(key for key, _ in pairs)[0]))
    return record


def _constant(name: str) -> float | None:
    return None if name == "NaN" else float(name)


def read_parquet(path: Path, _encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the rows of a Parquet file, a thousand in memory at a time, or fewer; a number that is NaN is missing.

    Raises:
        UserError: it is no Parquet file, has a column twice, or a page of more than PAGE_BYTES.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            check_columns(file.schema_arrow.names, str(path))
            for batch in file.iter_batches(batch_rows(path, file.metadata)):
                for record in batch.to_pylist():
                    yield {column: without_nan(value) for column, value in record.items()}
    # OSError: a block that does not decompress; ValueError: a page whose header is damaged.
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{path} is not a readable Parquet file ({one_line(error)}): fetch it again") from None


def batch_rows(path: Path, metadata: Any) -> int:
    """Return how many rows of a Parquet file may be in memory at a time, given its metadata.

    Raises:
        UserError: a page has more than PAGE_BYTES.
        ValueError: a page's header is damaged.
    """
    largest = max(page_sizes(path, metadata), default=1)
    if largest > PAGE_BYTES:
        raise UserError(
            f"{path} has a page of {largest:,} bytes, more than {PAGE_BYTES:,}: write it with smaller pages"
        )
    return max(1, min(BATCH_ROWS, BATCH_BYTES // max(1, largest)))


def without_nan(value: Any) -> Any:
    """Return a value, None for NaN, by which pandas marks what is missing; in lists and structs too."""
    if isinstance(value, list):
        return [without_nan(part) for part in value]
    if isinstance(value, dict):
        return {key: without_nan(part) for key, part in value.items()}
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124


def check_columns(names: Iterable[str], name: str) -> None:
    """Refuse columns of one name, of which a record would hold the last; `name` names the file in errors.

    Columns without any name cannot be asked for, and may be several.
    """
    twice = [column for column in _repeated(names) if column]
    if twice:
        raise repeated_column(name, twice[0])


def repeated_column(name: str, column: str) -> UserError:
    """Return the error of a file or dataset `name` that has `column` more than once."""
    return UserError(f"{name} has several columns {quoted(column)}: give each a name of its own")


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def read_csv(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the rows of a CSV file with a header (RFC 4180)."""
    with open_text(path, encoding) as lines:
        yield from parse_csv(lines, str(path), strict=True)


def read_tsv(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the rows of a TSV file with a header; quotation marks are text."""
    with open_text(path, encoding) as lines:
        yield from parse_csv(lines, str(path), delimiter="\t", quoting=csv.QUOTE_NONE)


def parse_csv(lines: Iterable[str], name: str, **dialect: Any) -> Iterator[Record]:
    """Yield the rows below a header; errors name the file as `name`.

    Raises:
        UserError: the header has a column twice or another separator, a row has more or fewer fields than the header
            or is longer than LONGEST_LINE, or the quoting is broken.
    """
    size = 0

    def counted() -> Iterator[str]:
        nonlocal size
        for number, line in enumerate(lines):
            if not number:
                _check_separator(line.strip(), name, reader.dialect.delimiter)
            size += len(line)
            if size > LONGEST_LINE:
                raise UserError(
                    f"{name}, line {reader.line_num + 1}: a row has more than {LONGEST_LINE:,} characters by here; "
                    "close the quotation mark that opens it, or remove it"
                )
            yield line

    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))  # of the process, and 131,072 at first
    reader = csv.reader(counted(), **dialect)
    try:
        header = next(reader, [])
        check_columns(header, name)
        size = 0
        for row in reader:
            size = 0
            if row and len(row) != len(header):
                raise UserError(
                    f"{name}, line {reader.line_num} has {_fields(len(row))}, the header has {len(header)}: "
                    f"{_misfit(row, header, quoted_fields=reader.dialect.quoting != csv.QUOTE_NONE)}"
                )
            if row:
                yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise UserError(f"{name}, line {reader.line_num}: {error}; correct or remove the line") from None


def _check_separator(header: str, name: str, separator: str) -> None:
    bare = _QUOTED.sub("", header) if separator != "\t" else header
    found = [other for other in SEPARATORS if other in bare]
    if found and separator not in found:
        raise UserError(
            f"{name} has the header {quoted(header)}, whose columns are separated by {SEPARATORS[found[0]]}: "
            f"write {SEPARATORS[separator]} between columns"
        )


def _fields(count: int) -> str:
    return f"{count} field{'s' * (count != 1)}"


def _misfit(row: list[str], header: list[str], *, quoted_fields: bool) -> str:
    """Return why a row has not as many fields as the header, and the way out."""
    if quoted_fields:
        if len(row) > len(header):
            return "quote the fields that hold a delimiter"
        return "add what is missing, or quote the field whose line break this is"
    remedy = "TSV has no quotes: take it out, or write CSV"
    if len(row) > len(header):
        return f"there is a tab inside a field; {remedy}"
    if _half_quoted(row[-1]):
        return f"there is a line break inside a field; {remedy}"
    return f"a field is missing, or there is a line break inside one; {remedy}"


def _half_quoted(part: str) -> bool:
    return part == '"' or part.startswith('"') != part.endswith('"')


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


TABLES: dict[str, Callable[[Path, str], Iterator[Record]]] = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".jsonl": read_jsonl,
    ".parquet": read_parquet,
}
"""Suffix -> what reads a file whose records have named columns, given its encoding."""
