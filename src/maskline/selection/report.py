"""What the articles of a corpus are like: how long, how much of them is said twice, which were taken for copies."""

from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from maskline.core.storage import write_csv, write_json
from maskline.corpus.articles import Article
from maskline.selection.duplicates import Example, digest

MOST_LINES = 1 << 18
"""Hashes of lines in memory."""


class DistinctLines:
    """How many lines differ: exact up to MOST_LINES, and within about half a per cent beyond.

    It keeps the hashes that a power of two divides, a larger one whenever there are too many (adaptive sampling,
    Flajolet 1990).
    """

    def __init__(self) -> None:
        self.lines = 0
        self._every = 1
        self._seen: set[int] = set()

    def add(self, line: str) -> None:
        """Count a line."""
        self.lines += 1
        value = digest(line)
        if value % self._every == 0:
            self._seen.add(value)
            while len(self._seen) > MOST_LINES:
                self._every *= 2
                self._seen = {seen for seen in self._seen if seen % self._every == 0}

    @property
    def ratio(self) -> float:
        """Return the share of the lines that would be left if each stood once."""
        return min(1.0, len(self._seen) * self._every / max(self.lines, 1))


class CorpusReport:
    """Collect what is known of the articles that are kept, and write it."""

    def __init__(self) -> None:
        self._lengths = array("I")
        self._lines = DistinctLines()

    def add(self, article: Article) -> None:
        """Count an article."""
        self._lengths.append(len(article.text))
        for line in article.text.split("\n"):
            self._lines.add(line)

    def write(
        self, folder: Path, counts: Mapping[str, Any], examples: list[Example], named: Mapping[int, Article]
    ) -> None:
        """Write metrics.json, articles.csv, lengths.csv and duplicates.csv to `folder`.

        `counts` is what the manifest says of the selection; `named` are the articles of the `examples`, by their place.
        articles.csv says what became of every article; a row of lengths.csv counts those of `characters` to twice as
        many characters.
        """
        lengths = np.asarray(self._lengths, np.int64)
        quantiles = {f"p{share:02}": share / 100 for share in (5, 25, 50, 75, 95)}
        write_json(
            folder / "metrics.json",
            {
                **counts,
                "characters_per_article": {
                    "mean": float(lengths.mean()),
                    **{name: int(np.quantile(lengths, share, method="lower")) for name, share in quantiles.items()},
                    "max": int(lengths.max()),
                },
                "lines": self._lines.lines,
                "distinct_line_ratio": self._lines.ratio,
            },
        )
        outcomes = {split: values["articles"] for split, values in counts["splits"].items()} | counts["dropped"]
        rows = [{"outcome": outcome, "articles": articles} for outcome, articles in outcomes.items()]
        write_csv(folder / "articles.csv", rows, ("outcome", "articles"))
        octaves = np.bincount(np.frexp(lengths)[1] - 1).tolist()
        rows = [{"characters": 2**octave, "articles": articles} for octave, articles in enumerate(octaves)]
        write_csv(folder / "lengths.csv", rows, ("characters", "articles"))
        pairs = [(example.similarity, named[example.dropped], named[example.kept]) for example in examples]
        columns = ("similarity", "dropped_id", "dropped_title", "kept_id", "kept_title")
        values = [(like, dropped.id, dropped.title, kept.id, kept.title) for like, dropped, kept in pairs]
        write_csv(folder / "duplicates.csv", [dict(zip(columns, row, strict=True)) for row in values], columns)
