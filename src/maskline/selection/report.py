"""The report on a corpus: lengths of the articles, repeated lines, and near duplicates."""

from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from maskline.core.storage import write_csv, write_json
from maskline.corpus.articles import Article
from maskline.selection.duplicates import NearDuplicate, digest

MOST_LINES = 1 << 18
"""Hashes of lines that are kept in memory."""


class DistinctLines:
    """Count distinct lines: exactly up to MOST_LINES, and within about half a per cent beyond.

    Adaptive sampling (Flajolet 1990): it keeps the hashes that are divisible by a power of two, and doubles that power
    when there are too many.
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
        """Distinct lines as a share of all lines."""
        return min(1.0, len(self._seen) * self._every / max(self.lines, 1))


class CorpusReport:
    """Collect the numbers of the report from the articles that are kept, and write it."""

    def __init__(self) -> None:
        self._lengths = array("I")
        self._lines = DistinctLines()

    def add(self, article: Article) -> None:
        """Count an article."""
        self._lengths.append(len(article.text))
        for line in article.text.split("\n"):
            self._lines.add(line)

    def write(
        self,
        folder: Path,
        counts: Mapping[str, Any],
        near_duplicates: list[NearDuplicate],
        listed: Mapping[int, Article],
    ) -> None:
        """Write metrics.json, articles.csv, lengths.csv and duplicates.csv to `folder`.

        articles.csv counts the articles of each split and those dropped for each reason. A row of lengths.csv counts
        the articles of `characters` to twice as many characters.

        Args:
            folder: where to write.
            counts: the counts of the manifest.
            near_duplicates: the rows of duplicates.csv.
            listed: their articles, by place in the stream.
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
        pairs = [(pair.similarity, listed[pair.dropped], listed[pair.kept]) for pair in near_duplicates]
        columns = ("similarity", "dropped_id", "dropped_title", "kept_id", "kept_title")
        values = [(like, dropped.id, dropped.title, kept.id, kept.title) for like, dropped, kept in pairs]
        write_csv(folder / "duplicates.csv", [dict(zip(columns, row, strict=True)) for row in values], columns)
