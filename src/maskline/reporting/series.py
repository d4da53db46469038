"""The columns of a curve file as numbers."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from maskline.core.errors import UserError
from maskline.core.storage import read_csv

Series = Mapping[str, list[float]]
"""Column -> its numbers, one per row."""


def read_series(path: Path, names: Iterable[str]) -> Series:
    """Return the columns `names` of a CSV file; see `to_series`."""
    return to_series(read_csv(path), names, str(path))


def to_series(rows: Iterable[Mapping[str, str]], names: Iterable[str], source: str) -> Series:
    """Return the columns `names` of CSV rows; an empty or non-finite field is NaN, which a figure shows as a gap.

    Raises:
        UserError: there is no such column, or a field is not a number; the error names `source`.
    """
    rows = list(rows)
    return {name: [_number(row, name, source) for row in rows] for name in names}


def _number(row: Mapping[str, str], name: str, source: str) -> float:
    if name not in row:
        raise UserError(f"{source} has no column {name} (it has {', '.join(row)}): run `dvc repro` to write it again")
    try:
        value = float(row[name] or math.nan)
    except ValueError:
        raise UserError(f"{source}: {name} is {row[name]!r}, not a number: run `dvc repro` to write it again") from None
    return value if math.isfinite(value) else math.nan


def last_number(values: Iterable[float]) -> float | None:
    """Return the last value that is not NaN; None if there is none."""
    return next((value for value in reversed(list(values)) if not math.isnan(value)), None)
