"""The curves of a run as rows of a figure: every number of a CSV file, by updates, tokens and seconds."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from maskline.core.storage import read_csv
from maskline.page.document import Table
from maskline.page.figures import AXES, TRAIN, VALIDATION, thinned
from maskline.reporting.series import Series, to_series


@dataclass(frozen=True)
class Training:
    """The curve files of one training, read."""

    name: str
    train: Series
    """With the columns step and, where the file has it, tokens."""
    validation: Series
    seconds: float | None
    """How long the training took, scores included; None where nothing says."""

    def has(self, column: str) -> bool:
        """Return whether a validation score was taken."""
        return any(not math.isnan(value) for value in self.validation.get(column, ()))

    @cached_property
    def _tokens(self) -> list[float]:
        """The tokens read after each row of training; empty where one does not say."""
        tokens = self.train.get("tokens", [])
        return [] if any(map(math.isnan, tokens)) else tokens

    def tokens_at(self, step: float) -> float | None:
        """Return how many tokens were read after `step`, between two rows by a straight line; None if no row says."""
        steps, tokens = self.train["step"], self._tokens
        if not tokens or math.isnan(step):
            return None
        after = bisect_left(steps, step)
        if after == len(steps):
            return tokens[-1]
        before = (steps[after - 1], tokens[after - 1]) if after else (0.0, 0.0)
        share = (step - before[0]) / ((steps[after] - before[0]) or 1)
        return round(before[1] + share * (tokens[after] - before[1]))

    def place(self, step: float) -> tuple[float | None, float | None, float | None]:
        """Return step, tokens and seconds of a row; the seconds are spread over the tokens evenly."""
        tokens = self.tokens_at(step)
        last = self._tokens[-1] if self._tokens else 0
        seconds = None if tokens is None or self.seconds is None or not last else round(self.seconds * tokens / last, 2)
        return number(step), tokens and number(tokens), seconds


def read_training(folder: Path, name: str, seconds: float | None) -> Training:
    """Return the curves whose train.csv and validation.csv lie in `folder`.

    Raises:
        UserError: one is missing, or is no such file.
    """
    return Training(name, _columns(folder / "train.csv"), _columns(folder / "validation.csv"), seconds)


def _columns(path: Path) -> Series:
    rows = read_csv(path)
    return to_series(rows, dict.fromkeys(("step", *(rows[0] if rows else ()))), str(path))


def table(trainings: Sequence[Training], column: str) -> tuple[Table, str]:
    """Return a column of several trainings as rows of `figures.curves`, and what is to be said of rows left out."""
    rows: list[Sequence[Any]] = []
    notes = []
    for training in trainings:
        for split, series in ((TRAIN, training.train), (VALIDATION, training.validation)):
            if column not in series:
                continue
            pairs, note = thinned(list(zip(series["step"], series[column], strict=True)))
            notes += [f"{split}.csv: {note}"] if note else []
            rows += [(training.name, split, number(value), *training.place(step)) for step, value in pairs]
    return known(("series", "split", "value", *AXES), rows), " ".join(dict.fromkeys(notes))


def known(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return a table without those of the columns AXES that a row does not know."""
    unknown = {
        place for place, name in enumerate(columns) if name in AXES and any(row[place] is None for row in rows)
    } - {columns.index("step")}
    kept = [place for place in range(len(columns)) if place not in unknown]
    return Table([columns[place] for place in kept], [[row[place] for place in kept] for row in rows])


def number(value: float | None) -> float | int | None:
    """Return a number as JSON has it: whole ones without a point, None for what is none."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else value


def seconds_of(folder: Path, timings: Path, stage: str) -> float | None:
    """Return how long a stage of the run in `folder` took: here, or on the machine of its committed times."""
    from maskline.core.storage import read_json
    from maskline.reporting.tables import read_seconds

    here = folder / timings / f"{stage}.json"
    if here.is_file():
        return read_seconds(here)
    committed = folder / "reports" / "timing.json"
    times: Mapping[str, Any] = read_json(committed) if committed.is_file() else {}
    return times.get(stage)
