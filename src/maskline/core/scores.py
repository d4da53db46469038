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


@dataclass(frozen=True)
class FigureSpec:
    """A figure of a table that lies beside the report."""

    name: str
    shape: Literal["matrix", "bars"]
    """matrix: how often each of `y` was taken for each of `x`; bars: `x` for each of `y`, by rows."""
    table: str
    """The CSV file."""
    title: str
    x: str
    y: str
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


def finite(values: Mapping[str, float | None]) -> dict[str, Any]:
    """Return `values` with None for what is no finite number: no JSON or CSV could hold it."""
    return {name: value if value is not None and math.isfinite(value) else None for name, value in values.items()}
