"""Articles on disk: what is kept of a source, and how it is read again.

`data/corpus/articles-00000.parquet` and on hold `id, title, url, text`, in the order of the source; the manifest says
where they come from, how many there are in each split, and what was dropped and why.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from maskline.corpus.split import Split, split_of
from maskline.errors import UserError
from maskline.storage import atomic, fresh_directory, read_manifest, write_manifest

ROW_GROUP = 1_000
"""Articles that are in memory at once."""
FILE_ROWS = 100_000
SCHEMA = pa.schema([(name, pa.string()) for name in ("id", "title", "url", "text")])

_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_SPACES = re.compile(r"[^\S\n]+")
# Controls, soft hyphens, zero-width spaces, direction marks, byte order marks, private-use characters, and surrogates,
# which no UTF-8 file can hold. The joiners U+200C and U+200D stay: Persian, Indic scripts and emoji are spelled with
# them. The list is written out because what `unicodedata` knows differs between versions of Python.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\ue000-\uf8ff\ufffe\uffff]"
)


class Article(NamedTuple):
    """A page of an encyclopedia, or any text that has a beginning and an end."""

    id: str
    title: str
    url: str
    text: str
    """Paragraphs separated by a newline."""


@dataclass(frozen=True)
class Source:
    """Articles as they come, and what the manifest says about their origin."""

    articles: Iterable[Article]
    provenance: dict[str, Any]
    licence: str
    dropped: Counter[str] = field(default_factory=Counter)
    """Reason -> pages that the source leaves out itself; complete once the articles are read."""
    report: Callable[[], dict[str, Any]] = dict
    """What else the manifest says of the reading, asked once the articles are read."""


def clean(text: str) -> str:
    """Return `text` in NFC, without invisible characters, one space between words, one newline between paragraphs."""
    text = _INVISIBLE.sub("", _LINE_BREAK.sub("\n", text))
    lines = (line.strip() for line in _SPACES.sub(" ", unicodedata.normalize("NFC", text)).split("\n"))
    return "\n".join(line for line in lines if line)


def clean_line(text: str) -> str:
    """Return `text` cleaned, on one line."""
    return clean(text).replace("\n", " ")


def write_corpus(directory: Path, source: Source, min_characters: int, validation_fraction: float) -> dict[str, Any]:
    """Write the articles of `source` that are worth keeping to a new `directory`; return its manifest.

    Every article is cleaned. Dropped are the empty ones, those shorter than `min_characters`, and, of those with equal
    text or equal id, all but the first.

    Raises:
        UserError: nothing is left, or one of the splits is empty.
    """
    fresh_directory(directory)
    selection = _Selection(min_characters, validation_fraction)
    write_parquet(directory, "articles", SCHEMA, selection.keep(source.articles))
    selection.leave_out(source.dropped)
    selection.check()
    content = {
        "provenance": source.provenance,
        "licence": source.licence,
        "validation_fraction": validation_fraction,
        "min_characters": min_characters,
        **selection.report(),
        **source.report(),
    }
    write_manifest(directory, content)
    return content


class _Selection:
    """Which articles are kept, counting all of them."""

    def __init__(self, min_characters: int, validation_fraction: float) -> None:
        self.min_characters = min_characters
        self.validation_fraction = validation_fraction
        self.read = 0
        self.dropped = dict.fromkeys(("empty", "short", "duplicate_text", "duplicate_id"), 0)
        self.splits = {split: Counter[str](articles=0, characters=0, words=0) for split in ("train", "validation")}
        self._seen: set[int] = set()

    def keep(self, articles: Iterable[Article]) -> Iterator[Article]:
        for raw in articles:
            self.read += 1
            article = Article(clean_line(raw.id), clean_line(raw.title), clean_line(raw.url), clean(raw.text))
            if reason := self._fault(article):
                self.dropped[reason] += 1
                continue
            counts = self.splits[split_of(article.id, self.validation_fraction)]
            counts.update(articles=1, characters=len(article.text), words=len(article.text.split()))
            yield article

    def _fault(self, article: Article) -> str | None:
        if not article.text:
            return "empty"
        if len(article.text) < self.min_characters:
            return "short"
        if self._repeated(article.text, b"text"):
            return "duplicate_text"
        if self._repeated(article.id, b"id"):
            return "duplicate_id"
        return None

    def _repeated(self, value: str, kind: bytes) -> bool:
        # 60 bits are what the smallest Python integer of their size holds: about 70 bytes a value with the set, so
        # that ten million articles fit; one of them is taken for another with a chance of one in ten thousand.
        digest = int.from_bytes(blake2b(value.encode(), digest_size=8, person=kind).digest(), "big") >> 4
        known = digest in self._seen
        self._seen.add(digest)
        return known

    def leave_out(self, pages: Counter[str]) -> None:
        """Count pages that were read, and left out before they came here."""
        self.read += pages.total()
        self.dropped = {**pages, **self.dropped}

    def check(self) -> None:
        kept = sum(counts["articles"] for counts in self.splits.values())
        if not kept:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.dropped.items() if count) or "none read"
            raise UserError(
                f"the corpus is empty: of {self.read} articles read, none is left ({reasons}); "
                "check corpus.source, or lower corpus.min_characters"
            )
        for split, counts in self.splits.items():
            if not counts["articles"]:
                raise UserError(
                    f"the {split} split is empty: all {kept} articles are in the other one; add articles, or change "
                    f"corpus.validation_fraction (now {self.validation_fraction:g})"
                )

    def report(self) -> dict[str, Any]:
        total = sum(self.splits.values(), Counter[str]())
        return {"read": self.read, **total, "splits": self.splits, "dropped": self.dropped}


def write_parquet(directory: Path, name: str, schema: pa.Schema, rows: Iterable[NamedTuple]) -> None:
    """Stream `rows` to `name-00000.parquet` and on: fixed row groups and files, so that equal rows are equal bytes."""
    columns = schema.names
    rows = iter(rows)
    first = list(islice(rows, ROW_GROUP))
    for number in count():
        if not first:
            return
        path = directory / f"{name}-{number:05d}.parquet"
        with atomic(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for _ in range(FILE_ROWS // ROW_GROUP):
                writer.write_table(pa.table(dict(zip(columns, zip(*first, strict=True), strict=True)), schema))
                first = list(islice(rows, ROW_GROUP))
                if not first:
                    break


def read_articles(directory: Path, split: Split | None) -> Iterator[Article]:
    """Yield the articles of one split, or all with None, a row group in memory at a time.

    Raises:
        UserError: the directory is not what fetch wrote.
    """
    manifest = read_manifest(directory, "fetch")
    fraction = manifest["validation_fraction"]
    for name in sorted(manifest["files"]):
        with pq.ParquetFile(directory / name) as file:
            for batch in file.iter_batches(ROW_GROUP):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    article = Article(*row)
                    if split is None or split_of(article.id, fraction) == split:
                        yield article
