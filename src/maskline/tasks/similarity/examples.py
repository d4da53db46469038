"""From records to pairs of texts: the columns `sentence1` and `sentence2`, and `score` and `negative` where there are.

Two pairs are copies when their texts are equal once they are cleaned, in whatever order. Of copies that differ in their
`negative` the first is kept.
"""

import html
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from maskline.core.errors import UserError, quoted
from maskline.corpus.articles import clean_line
from maskline.dataset.source import Part, Reader
from maskline.dataset.write import Example, Facts, Row
from maskline.records.files import TABLES, Record, field, open_text

if TYPE_CHECKING:
    from maskline.tasks.similarity.settings import SimilarityDataset

FIRST, SECOND, SCORE, NEGATIVE = "sentence1", "sentence2", "score", "negative"
BANDS = 5
"""Parts of the range of scores of which the manifest and the report tell apart."""


def read_headless(path: Path, encoding: str, columns: Sequence[str]) -> Iterator[Record]:
    """Yield the lines of a file without a header as records of `columns`, a TAB between fields.

    Fields behind the last of `columns` are left out: the STS Benchmark has some in some lines.

    Raises:
        UserError: a line has too few.
    """
    with open_text(path, encoding) as lines:
        for number, line in enumerate(lines, 1):
            fields = line.rstrip("\r\n").split("\t")
            if not line.strip():
                continue
            if len(fields) < len(columns):
                raise UserError(
                    f"{path}, line {number} has fewer fields ({len(fields)}, a TAB between) than dataset.columns has "
                    f"names ({len(columns)}): correct the line, or give null where the first line has the names"
                )
            yield dict(zip(columns, fields, strict=False))


def bands(score_range: Sequence[float]) -> list[tuple[float, float]]:
    """Return the bounds of BANDS parts of the range of scores; each but the last is without its upper bound."""
    low, high = score_range
    edges = [low + (high - low) * number / BANDS for number in range(BANDS + 1)]
    return list(pairwise(edges))


def band_of(score: float, score_range: Sequence[float]) -> int:
    """Return the number of the part of the range that `score` is in."""
    low, high = score_range
    return min(BANDS - 1, int((score - low) / (high - low) * BANDS))


class Examples:
    """How pairs of texts are made of records."""

    def schema(self, settings: "SimilarityDataset") -> pa.Schema:
        """Return the columns."""
        columns = {FIRST: pa.string(), SECOND: pa.string()}
        if settings.score_column is not None:
            columns[SCORE] = pa.float64()
        if settings.negative_column is not None:
            columns[NEGATIVE] = pa.string()
        return pa.schema(columns)

    def readers(self, settings: "SimilarityDataset") -> Mapping[str, Reader]:
        """Return the readers of files with columns, whose names are in the files or in `settings`."""
        if settings.columns is None:
            return TABLES
        return TABLES | dict.fromkeys((".csv", ".tsv"), partial(read_headless, columns=settings.columns))

    def read(self, part: Part, settings: "SimilarityDataset", dropped: Counter[str]) -> Iterator[Example]:
        """Yield the pairs; those without a score, and those with an empty text once it is cleaned, are left out.

        Raises:
            UserError: a record has no such column, or a score that is no number of the range.
        """
        reasons = ["empty"] + (["missing_score"] if settings.score_column is not None else [])
        dropped.update(dict.fromkeys(reasons, 0))
        for number, record in enumerate(part.records, 1):
            first, second = (
                _text(record, column, part.name) for column in (settings.first_column, settings.second_column)
            )
            row: dict[str, str | float | None] = {FIRST: first, SECOND: second}
            if settings.negative_column is not None:
                row[NEGATIVE] = _text(record, settings.negative_column, part.name) or None
            if settings.score_column is not None:
                row[SCORE] = _score(record, settings, part.name, number)
            if not first or not second:
                dropped["empty"] += 1
            elif settings.score_column is not None and row[SCORE] is None:
                dropped["missing_score"] += 1
            else:
                yield Example("\n".join(sorted((first, second))), row.get(SCORE), row)

    def facts(self, settings: "SimilarityDataset", splits: Mapping[str, Sequence[Row]], section: str) -> Facts:
        """Return the range of scores, and how many pairs of a split are in each part of it or have a negative.

        Raises:
            UserError: all scores of a split are equal, so that nothing can be ranked.
        """
        scored = settings.score_column is not None
        counts: dict[str, dict[str, object]] = {split: {} for split in splits}
        for split, rows in splits.items():
            if scored:
                if rows and len({row[SCORE] for row in rows}) == 1:
                    raise UserError(
                        f"{section}: every pair of the {split} split has the score {rows[0][SCORE]:g}, which ranks "
                        "nothing; add examples, or change its fraction"
                    )
                seen = Counter(band_of(row[SCORE], settings.score_range) for row in rows)
                counts[split]["scores"] = {
                    f"{low:g} to {high:g}": seen[number]
                    for number, (low, high) in enumerate(bands(settings.score_range))
                }
            if settings.negative_column is not None:
                counts[split]["negatives"] = sum(row[NEGATIVE] is not None for row in rows)
        return Facts(dataset={"score_range": list(settings.score_range) if scored else None}, splits=counts)


def _text(record: Record, column: str, name: str) -> str:
    return clean_line(html.unescape(field(record, column, name)))


def _score(record: Record, settings: "SimilarityDataset", name: str, number: int) -> float | None:
    """Return the score of a record, the `number`-th of its file; None where it is missing."""
    column, (low, high) = settings.score_column, settings.score_range
    assert column is not None
    text = field(record, column, name).strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise UserError(
            f"{name}, record {number}: {column} is {quoted(text)}, no number from {low:g} to {high:g}: correct it, or "
            "dataset.score_range"
        )
    return value
