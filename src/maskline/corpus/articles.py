"""Articles on disk: the Parquet files of the stage fetch.

`data/corpus/articles-00000.parquet` and the files after it have the columns `id, title, url, text`, in the order of the
source. Where the source has a validation split of its own, its articles are in `held-out-00000.parquet` and so on. The
manifest says where the articles come from, how many are in each split, and how many were dropped for which reason.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from maskline.core.storage import atomic, read_manifest
from maskline.corpus.split import Split, split_of

ARTICLES, HELD_OUT = "articles", "held-out"
READ_ROWS = 100
"""Articles that are converted to Python objects at a time."""
ROW_GROUP = 1_000
"""Articles per row group of a Parquet file."""
FILE_ROWS = 100_000
"""Articles per Parquet file."""
PAGE_ROWS = 16
"""Articles after which Parquet checks whether a page has 1 MB and ends: a reader holds a whole page in memory."""
SCHEMA = pa.schema([(name, pa.string()) for name in ("id", "title", "url", "text")])

_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_SPACES = re.compile(r"(?:[^\S\n]|\u200b)+")  # the zero-width space parts words, as in Khmer
# Controls, soft hyphens, direction marks, byte order marks, private-use characters, and surrogates,
# which UTF-8 cannot encode. The joiners U+200C and U+200D stay: Persian, Indic scripts and emoji need them. The list is
# written out because `unicodedata` differs between versions of Python.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\ue000-\uf8ff\ufffe\uffff]"
)


class Article(NamedTuple):
    """A page of an encyclopedia, or another text with a beginning and an end."""

    id: str
    title: str
    url: str
    text: str
    """Paragraphs separated by a newline."""


@dataclass(frozen=True)
class Source:
    """The articles of a source, as an iterator, and what the manifest says about their origin."""

    articles: Iterable[Article]
    provenance: dict[str, Any]
    licence: str
    dropped: Counter[str] = field(default_factory=Counter)
    """Reason -> pages that the source itself left out; complete after the articles are read."""
    report: Callable[[], dict[str, Any]] = dict
    """Return further entries of the manifest; called after the articles are read."""
    held_out: Iterable[Article] | None = None
    """The validation split, read before `articles`; None: a part of `articles` is held out."""


def clean(text: str) -> str:
    """Return `text` in NFC, without invisible characters, one space between words, one newline between paragraphs."""
    text = _INVISIBLE.sub("", _LINE_BREAK.sub("\n", text))
    lines = (line.strip() for line in _SPACES.sub(" ", unicodedata.normalize("NFC", text)).split("\n"))
    return "\n".join(line for line in lines if line)


def clean_line(text: str) -> str:
    """Return `text` cleaned, on one line."""
    return clean(text).replace("\n", " ")


def write_parquet(directory: Path, name: str, schema: pa.Schema, rows: Iterable[NamedTuple]) -> None:
    """Stream `rows` to `name-00000.parquet`, `name-00001.parquet` and so on.

    Files and row groups have fixed sizes, so that equal rows give equal bytes.
    """
    columns = schema.names
    rows = iter(rows)
    first = list(islice(rows, ROW_GROUP))
    for number in count():
        if not first:
            return
        path = directory / f"{name}-{number:05d}.parquet"
        layout = {"compression": "zstd", "use_dictionary": False, "write_batch_size": PAGE_ROWS}
        with atomic(path) as temporary, pq.ParquetWriter(temporary, schema, **layout) as writer:
            for _ in range(FILE_ROWS // ROW_GROUP):
                writer.write_table(pa.table(dict(zip(columns, zip(*first, strict=True), strict=True)), schema))
                first = list(islice(rows, ROW_GROUP))
                if not first:
                    break


def read_articles(directory: Path, split: Split | None) -> Iterator[Article]:
    """Yield the articles of one split, or all with None, a few in memory at a time.

    Raises:
        UserError: the directory is not what the stage fetch wrote.
    """
    fraction = read_manifest(directory, "fetch")["validation_fraction"]
    if fraction is None:  # the source held out articles itself
        names = {"train": [ARTICLES], "validation": [HELD_OUT], None: [ARTICLES, HELD_OUT]}[split]
        for name in names:
            yield from read_parquet(directory, name)
        return
    for article in read_parquet(directory, ARTICLES):
        if split is None or split_of(article.id, fraction) == split:
            yield article


def read_parquet(directory: Path, name: str) -> Iterator[Article]:
    """Yield the articles that `write_parquet` wrote as `name`, a few in memory at a time."""
    for path in sorted(directory.glob(f"{name}-*.parquet")):
        with pq.ParquetFile(path, pre_buffer=False) as file:  # a buffer would grow with the file
            for batch in file.iter_batches(READ_ROWS, use_threads=False):
                yield from map(Article._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))
