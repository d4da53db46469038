"""Which articles of a source are kept, and what there was of the others."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from maskline.corpus.articles import SCHEMA, Article, Source, clean, clean_line, read_parquet, write_parquet
from maskline.corpus.duplicates import KEPT, REASONS, Copies, Sketches
from maskline.corpus.report import CorpusReport
from maskline.corpus.split import split_of
from maskline.errors import UserError
from maskline.storage import fresh_directory, write_manifest


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
    `maskline.corpus.duplicates`); with None, near duplicates stay. What the articles are like goes to the folder
    `report` (see `maskline.corpus.report`).

    Raises:
        UserError: nothing is left, or one of the splits is empty.
    """
    fresh_directory(directory)
    selection = _Selection(min_characters, validation_fraction)
    with TemporaryDirectory(dir=directory, prefix="staged-") as name:
        staged = Path(name)
        write_parquet(staged, "articles", SCHEMA, selection.worth_keeping(source.articles))
        copies = selection.sketches.find_copies(
            lambda: (article.text for article in read_parquet(staged)), near_duplicates, staged
        )
        write_parquet(directory, "articles", SCHEMA, selection.without(copies, read_parquet(staged)))
    selection.leave_out(source.dropped)
    selection.check()
    content = {
        "provenance": source.provenance,
        "licence": source.licence,
        "validation_fraction": validation_fraction,
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

    def __init__(self, min_characters: int, validation_fraction: float) -> None:
        self.min_characters = min_characters
        self.validation_fraction = validation_fraction
        self.read = 0
        self.dropped = dict.fromkeys(("empty", "short", *REASONS.values()), 0)
        self.splits = {split: Counter[str](articles=0, characters=0, words=0) for split in ("train", "validation")}
        self.sketches = Sketches()
        self.corpus_report = CorpusReport()
        self.named: dict[int, Article] = {}

    def worth_keeping(self, articles: Iterable[Article]) -> Iterator[Article]:
        """Yield what is long enough, cleaned; remember enough of it to find the copies."""
        for raw in articles:
            self.read += 1
            article = Article(clean_line(raw.id), clean_line(raw.title), clean_line(raw.url), clean(raw.text))
            if not article.text:
                self.dropped["empty"] += 1
            elif len(article.text) < self.min_characters:
                self.dropped["short"] += 1
            else:
                self.sketches.add(article.id, article.text)
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
            counts = self.splits[split_of(article.id, self.validation_fraction)]
            counts.update(articles=1, characters=len(article.text), words=len(article.text.split()))
            self.corpus_report.add(article)
            yield article

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
