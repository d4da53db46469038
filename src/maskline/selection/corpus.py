"""Which articles of a source are kept, and what there was of the others."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from maskline.core.errors import UserError
from maskline.core.storage import fresh_directory, write_manifest
from maskline.corpus.articles import (
    ARTICLES,
    HELD_OUT,
    SCHEMA,
    Article,
    Source,
    clean,
    clean_line,
    read_parquet,
    write_parquet,
)
from maskline.corpus.split import Split, split_of
from maskline.selection.duplicates import KEPT, REASONS, Copies, Sketches
from maskline.selection.report import CorpusReport


def write_corpus(
    directory: Path,
    source: Source,
    min_characters: int,
    validation_fraction: float,
    near_duplicates: float | None = None,
    report: Path | None = None,
) -> dict[str, Any]:
    """Write the articles of `source` that are worth keeping to a new `directory`; return its manifest.

    Every article is cleaned. Dropped are the empty ones, those shorter than `min_characters`, and of several with equal
    text, with equal id, or with texts of a similarity of `near_duplicates` or more, all but one (see
    `maskline.selection.duplicates`); with None, near duplicates stay. What the articles are like goes to the folder
    `report` (see `maskline.selection.report`). Where the source holds out articles itself, `validation_fraction` means
    nothing, and a copy of what is held out is never trained on.

    Raises:
        UserError: nothing is left, or one of the splits is empty.
    """
    fresh_directory(directory)
    fraction = validation_fraction if source.held_out is None else None
    selection = _Selection(min_characters, fraction)
    with TemporaryDirectory(dir=directory, prefix="staged-") as name:
        staged = Path(name)
        write_parquet(staged, ARTICLES, SCHEMA, selection.worth_keeping(source))
        copies = selection.sketches.find_copies(
            lambda: (article.text for article in read_parquet(staged, ARTICLES)), near_duplicates, staged
        )
        kept = selection.without(copies, read_parquet(staged, ARTICLES))
        held_out = int(np.count_nonzero(copies.verdicts[: selection.held_out] == KEPT))
        write_parquet(directory, HELD_OUT, SCHEMA, islice(kept, held_out))
        write_parquet(directory, ARTICLES, SCHEMA, kept)
    selection.leave_out(source.dropped)
    selection.check()
    content = {
        "provenance": source.provenance,
        "licence": source.licence,
        "validation_fraction": fraction,
        "min_characters": min_characters,
        "near_duplicates": near_duplicates,
        **selection.report(),
        **source.report(),
    }
    if report:
        selection.corpus_report.write(report, selection.report(), copies.examples, selection.named)
    write_manifest(directory, content)
    return content


class _Selection:
    """Which articles are kept, counting all of them."""

    def __init__(self, min_characters: int, validation_fraction: float | None) -> None:
        self.min_characters = min_characters
        self.validation_fraction = validation_fraction
        self.read = 0
        self.held_out = 0
        """How many articles, the first ones of those worth keeping, the source holds out itself."""
        self.dropped = dict.fromkeys(("empty", "short", *REASONS.values()), 0)
        self.splits = {split: Counter[str](articles=0, characters=0, words=0) for split in ("train", "validation")}
        self.sketches = Sketches()
        self.corpus_report = CorpusReport()
        self.named: dict[int, Article] = {}

    def worth_keeping(self, source: Source) -> Iterator[Article]:
        """Yield what is long enough, cleaned, and first what is held out; remember enough of it to find the copies."""
        for article in self._long_enough(source.held_out or ()):
            self.held_out += 1
            self.sketches.add(article.id, article.text, preferred=True)
            yield article
        for article in self._long_enough(source.articles):
            self.sketches.add(article.id, article.text)
            yield article

    def _long_enough(self, articles: Iterable[Article]) -> Iterator[Article]:
        for raw in articles:
            self.read += 1
            article = Article(clean_line(raw.id), clean_line(raw.title), clean_line(raw.url), clean(raw.text))
            if not article.text:
                self.dropped["empty"] += 1
            elif len(article.text) < self.min_characters:
                self.dropped["short"] += 1
            else:
                yield article

    def without(self, copies: Copies, articles: Iterable[Article]) -> Iterator[Article]:
        """Yield those of `articles` that are no copies; remember those that are examples, without their text."""
        examples = {place for example in copies.examples for place in (example.dropped, example.kept)}
        for place, (article, verdict) in enumerate(zip(articles, copies.verdicts.tolist(), strict=True)):
            if place in examples:
                self.named[place] = article._replace(text="")
            if verdict != KEPT:
                self.dropped[REASONS[verdict]] += 1
                continue
            counts = self.splits[self._split_of(place, article)]
            counts.update(articles=1, characters=len(article.text), words=len(article.text.split()))
            self.corpus_report.add(article)
            yield article

    def _split_of(self, place: int, article: Article) -> Split:
        if self.validation_fraction is None:
            return "validation" if place < self.held_out else "train"
        return split_of(article.id, self.validation_fraction)

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
        if kept == 1 and self.validation_fraction is not None:
            raise UserError("the corpus has one article, and needs one to train on and one to validate: add articles")
        remedy = (
            "what corpus.files.validation_paths or corpus.hub.validation_split holds out"
            if self.validation_fraction is None
            else f"corpus.validation_fraction (now {self.validation_fraction:g})"
        )
        for split, counts in self.splits.items():
            if not counts["articles"]:
                raise UserError(
                    f"the {split} split is empty: all {kept} articles are in the other one; add articles, or change "
                    f"{remedy}"
                )

    def report(self) -> dict[str, Any]:
        total = sum(self.splits.values(), Counter[str]())
        return {"read": self.read, **total, "splits": self.splits, "dropped": self.dropped}
