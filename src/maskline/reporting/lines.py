"""Lines over the steps of a run, and the labels that they end in.

Weight says which split: training is a thin line, validation a thick one with a point for each measurement. What is
missing is a gap.
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from maskline.reporting.series import Series, last_number
from maskline.reporting.style import GREY, VERMILION, Label
from maskline.reporting.tables import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEP = "step (optimizer updates)"


def train_line(axes: "Axes", series: Series, name: str, color: str, text: str) -> list[Label]:
    """Draw a noisy column over the steps; its label stands at the mean of the last tenth."""
    values = series[name]
    axes.plot(series["step"], values, color=color, linewidth=0.9, alpha=0.55, marker="o", markevery=_alone(values))
    tail = [value for value in values if not math.isnan(value)][-max(1, len(values) // 10) :]
    return [Label(text, fmean(tail), color)] if tail else []


def validation_line(
    axes: "Axes", series: Series, name: str, color: str, text: str, *, best: int | None = None
) -> list[Label]:
    """Draw a column over the steps with its points, and a ring around the row `best`."""
    steps, values = series["step"], series[name]
    axes.plot(steps, values, color=color, marker="o", zorder=3)
    last = last_number(values)
    if last is None:
        return []
    text = f"{text}  {format_number(last)}"
    if best is not None:
        ring: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "color": VERMILION}
        axes.plot(steps[best], values[best], zorder=4, **ring)
        kept = f"\nbest  {format_number(values[best])}, step {steps[best]:.0f}"
        text += " (best)" if best == len(values) - 1 else kept
    return [Label(text, last, color)]


def reference_line(axes: "Axes", value: float | None, name: str) -> list[Label]:
    """Draw what a curve is held against as a horizontal line; nothing where there is no number."""
    if value is None:
        return []
    axes.axhline(value, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    return [Label(f"{name}  {format_number(value)}", value, GREY)]


def best_of(values: Sequence[float]) -> int | None:
    """Return where the lowest number stands, the first of equals; None where there is no number."""
    return min(
        (index for index, value in enumerate(values) if not math.isnan(value)), key=lambda i: values[i], default=None
    )


def _alone(values: Sequence[float]) -> list[int]:
    """Return the numbers with a gap on both sides: a line alone would not show them."""
    padded = [math.nan, *values, math.nan]
    return [
        index
        for index, (before, value, after) in enumerate(zip(padded, values, padded[2:], strict=False))
        if math.isnan(before) and not math.isnan(value) and math.isnan(after)
    ]
