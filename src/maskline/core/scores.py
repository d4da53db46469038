"""What a stage that scores leaves: numbers, which of them to look at first, what they are held against, and figures.

`metrics.json` holds numbers by name, None where there is none. `report.json` says how to show them, so that whatever
shows results knows no task by name.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from maskline.core.storage import write_json

METRICS = "metrics.json"
REPORT = "report.json"


@dataclass(frozen=True)
class Headline:
    """A number to look at first."""

    metric: str
    """Its dotted key in metrics.json."""
    name: str
    better: Literal["higher", "lower"]
    against: Mapping[str, str] = field(default_factory=dict)
    """Dotted key of what it is held against -> the name of that."""
    count: str | None = None
    """Dotted key of how many examples it rests on; None where that is not told.

    Where metrics.json has its own key with `_low` and `_high` behind, these bound its 95 % confidence interval.
    """


@dataclass(frozen=True)
class FigureSpec:
    """A figure of a table that lies beside the report."""

    name: str
    shape: Literal["matrix", "bars", "scatter"]
    """matrix: how often each of `y` was taken for each of `x`; bars: a share for each of `y`, by rows; scatter: a point
    for each row, `value` over the column `y`."""
    table: str
    """The CSV file."""
    title: str
    x: str
    """What stands below."""
    y: str
    """A column."""
    value: str
    """The column of numbers."""


@dataclass(frozen=True)
class CurveSpec:
    """A column of the validation curves that is worth a panel."""

    column: str
    name: str


@dataclass(frozen=True)
class Report:
    """How to show a set of numbers."""

    title: str
    """Before the name of each number; "" where the names say enough."""
    headlines: Sequence[Headline]
    figures: Sequence[FigureSpec] = ()
    curves: Sequence[CurveSpec] = ()

    def write(self, path: Path) -> None:
        """Write the report as JSON."""
        write_json(path, asdict(self))


def wilson(share: float, count: float) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share of `count` examples (Wilson 1927); of none, all is possible."""
    if not count:
        return 0.0, 1.0
    z = 1.959964
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def interval(metric: str, bounds: tuple[float, float] | None) -> dict[str, float | None]:
    """Return the bounds of the confidence interval of `metric` under their keys in metrics.json."""
    low, high = bounds or (None, None)
    return {f"{metric}_low": low, f"{metric}_high": high}


def finite(values: Mapping[str, float | None]) -> dict[str, Any]:
    """Return `values` with None for what is no finite number: no JSON or CSV could hold it."""
    return {name: value if value is not None and math.isfinite(value) else None for name, value in values.items()}
