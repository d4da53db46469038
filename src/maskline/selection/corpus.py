"""The selection of articles: which of a source are kept, and how many are dropped for which reason."""

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
    """Clean, filter and deduplicate the articles of `source`; write them to a new `directory`, return its manifest.

    An article is dropped if it is empty, shorter than `min_characters`, or a copy (`maskline.selection.duplicates`).
    Of articles with equal text, equal id, or a similarity of at least `near_duplicates`, one is kept. With None near
    duplicates are kept. A report goes to the folder `report` (see `maskline.selection.report`). If the source holds out
    articles itself, `validation_fraction` is not used, and no copy of a held-out article is trained on.

    Raises:
        UserError: nothing is left, or one of the splits is empty.
    """
    fresh_directory(directory)
    fraction = validation_fraction if source.held_out is None else None
    chosen = _ArticleFilter(min_characters, fraction)
    with TemporaryDirectory(dir=directory, prefix="staged-") as name:
        staged = Path(name)
        write_parquet(staged, ARTICLES, SCHEMA, chosen.long_enough(source))
        copies = chosen.sketches.find_copies(
            lambda: (article.text for article in read_parquet(staged, ARTICLES)), near_duplicates, staged
        )
        kept = chosen.without(copies, read_parquet(staged, ARTICLES))
        held_out = int(np.count_nonzero(copies.verdicts[: chosen.held_out] == KEPT))
        write_parquet(directory, HELD_OUT, SCHEMA, islice(kept, held_out))
        write_parquet(directory, ARTICLES, SCHEMA, kept)
    chosen.count_dropped(source.dropped)
    chosen.check()
    described = source.report()
    content = {
        "provenance": source.provenance,
        "licence": source.licence,
        "validation_fraction": fraction,
        "min_characters": min_characters,
        "near_duplicates": near_duplicates,
        **chosen.report(),
        **described,
    }
    if report:
        counts = (
            chosen.report() | {"sentences": described["sentences"]} if "sentences" in described else chosen.report()
        )
        chosen.corpus_report.write(report, counts, copies.near_duplicates, chosen.listed)
    write_manifest(directory, content)
    return content


class _ArticleFilter:
    """Filter articles, and count those that are kept and those that are dropped."""

    def __init__(self, min_characters: int, validation_fraction: float | None) -> None:
        self.min_characters = min_characters
        self.validation_fraction = validation_fraction
        self.read = 0
        self.titles = 0
        """Articles whose first line was their title."""
        self.held_out = 0
        """How many of the articles that are long enough the source itself holds out; they come first."""
        self.dropped = dict.fromkeys(("empty", "short", *REASONS.values()), 0)
        self.splits = {split: Counter[str](articles=0, characters=0, words=0) for split in ("train", "validation")}
        self.sketches = Sketches()
        self.corpus_report = CorpusReport()
        self.listed: dict[int, Article] = {}
        """Articles of the near duplicates that the report lists, without text, by place in the stream."""

    def long_enough(self, source: Source) -> Iterator[Article]:
        """Yield the cleaned articles that are long enough, the held-out ones first; sketch each, to find copies."""
        for article in self._cleaned(source.held_out or ()):
            self.held_out += 1
            self.sketches.add(article.id, article.text, preferred=True)
            yield article
        for article in self._cleaned(source.articles):
            self.sketches.add(article.id, article.text)
            yield article

    def _cleaned(self, articles: Iterable[Article]) -> Iterator[Article]:
        """Yield `articles` cleaned, without those that are empty or too short.

        A title that is the first line of its text, as in the output of WikiExtractor, is no sentence: it is removed.
        """
        for raw in articles:
            self.read += 1
            article = Article(clean_line(raw.id), clean_line(raw.title), clean_line(raw.url), clean(raw.text))
            first, _, rest = article.text.partition("\n")
            if first and first == article.title:
                self.titles += 1
                article = article._replace(text=rest)
            if not article.text:
                self.dropped["empty"] += 1
            elif len(article.text) < self.min_characters:
                self.dropped["short"] += 1
            else:
                yield article

    def without(self, copies: Copies, articles: Iterable[Article]) -> Iterator[Article]:
        """Yield the articles that are not copies; collect those that the report lists."""
        listed = {place for pair in copies.near_duplicates for place in (pair.dropped, pair.kept)}
        for place, (article, verdict) in enumerate(zip(articles, copies.verdicts.tolist(), strict=True)):
            if place in listed:
                self.listed[place] = article._replace(text="")
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

    def count_dropped(self, pages: Counter[str]) -> None:
        """Count the pages that the source itself dropped (reason -> pages)."""
        self.read += pages.total()
        self.dropped = {**pages, **self.dropped}

    def check(self) -> None:
        """Raise a `UserError` if nothing is left or a split is empty."""
        kept = sum(counts["articles"] for counts in self.splits.values())
        if not kept:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.dropped.items() if count) or "none read"
            raise UserError(
                f"the corpus is empty: of {self.read} articles read, none is left ({reasons}); "
                "check corpus.source, or lower corpus.min_characters"
            )
        if kept == 1 and self.validation_fraction is not None:
            raise UserError(
                "the corpus has one article, but training needs one and validation needs another: add articles"
            )
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
        """Return the counts for the manifest."""
        total = sum(self.splits.values(), Counter[str]())
        titles = {"titles_removed": self.titles} if self.titles else {}
        return {"read": self.read, **total, "splits": self.splits, "dropped": self.dropped, **titles}
