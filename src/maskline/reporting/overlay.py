"""The validation curves of several experiments in one figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskline.reporting.lines import STEP
from maskline.reporting.series import last_number
from maskline.reporting.style import CYCLE, INK, Label, fitted, label_right
from maskline.reporting.tables import format_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Curve:
    """The validation curve of one experiment."""

    name: str
    detail: str
    """A second line under the name; may be empty."""
    steps: Sequence[float]
    loss: Sequence[float]
    spread: Sequence[float]
    """Standard deviation over the seeds, 0 for one run."""


def overlay(curves: Sequence[Curve]) -> "Figure":
    """Return the validation loss of several experiments by step, the first in black; a band is mean ± sd."""
    from matplotlib.figure import Figure

    lines = sum(1 + bool(curve.detail) for curve in curves)
    figure = Figure(figsize=(8.6, max(3.8, 1.2 + 0.17 * lines)))
    axes = figure.add_subplot()
    axes.set(title="Validation loss of the experiments", xlabel=STEP, ylabel="MLM loss (nats per masked token)")
    looks = [(INK, "-"), *((color, line) for line in ("-", "--", ":", "-.") for color in CYCLE)]
    labels = []
    for index, curve in enumerate(curves):
        color, line = looks[index % len(looks)]
        axes.plot(curve.steps, curve.loss, color=color, linestyle=line, marker="o", zorder=3 if index == 0 else 2)
        if any(curve.spread):
            low = [loss - spread for loss, spread in zip(curve.loss, curve.spread, strict=True)]
            high = [loss + spread for loss, spread in zip(curve.loss, curve.spread, strict=True)]
            axes.fill_between(curve.steps, low, high, color=color, alpha=0.15, linewidth=0)
        if (last := last_number(curve.loss)) is not None:
            text = f"{fitted(curve.name, 48, 1)}  {format_number(last)}\n{fitted(curve.detail, 48, 1)}"
            labels.append(Label(text.rstrip(), last, color))
    label_right({axes: labels})
    return figure
