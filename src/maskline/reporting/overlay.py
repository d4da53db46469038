"""The validation curves of several experiments in one figure, and those of several seeds in another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from maskline.reporting.lines import STEP
from maskline.reporting.series import last_number
from maskline.reporting.style import CYCLE, GREY, INK, Label, fitted, label_right
from maskline.reporting.tables import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LOSS = "MLM loss (nats per masked token)"
GAIN = "MLM loss less that of unigram frequencies (nats)"
LOOKS = [(INK, "-"), *((color, line) for line in ("-", "--", ":", "-.") for color in CYCLE)]
"""Colours and lines of experiments, the reference's first."""
THIN: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.8, "marker": "o", "markersize": 1.5}
"""The line of one seed among several."""


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


@dataclass(frozen=True)
class SeedCurves:
    """The validation curves of one configuration under several seeds."""

    name: str
    detail: str
    """A second line under the name; may be empty."""
    curves: Sequence[Mapping[float, float]]
    """Of each seed: step -> loss."""


def _empty(title: str, loss: str, named: Sequence[Curve] | Sequence[SeedCurves]) -> "tuple[Figure, Axes]":
    """Return a figure high enough for the names beside its curves, and its axes."""
    from matplotlib.figure import Figure

    lines = sum(1 + bool(one.detail) for one in named)
    figure = Figure(figsize=(8.6, max(3.8, 1.2 + 0.17 * lines)))
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=STEP, ylabel=loss)
    return figure, axes


def overlay(curves: Sequence[Curve], loss: str = LOSS) -> "Figure":
    """Return the validation loss of several experiments by step, the first in black; a band is mean ± sd."""
    figure, axes = _empty("Validation loss of the experiments", loss, curves)
    labels = []
    for index, curve in enumerate(curves):
        color, line = LOOKS[index % len(LOOKS)]
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


def seed_bands(configurations: Sequence[SeedCurves], loss: str = LOSS) -> "Figure":
    """Return the validation loss by step of several configurations: a thin line for each seed, and a band over them.

    The band reaches from the lowest to the highest of the seeds, at the steps that all of them have.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure, axes = _empty("Validation loss over seeds", loss, configurations)
    labels = []
    for index, configuration in enumerate(configurations):
        color, line = LOOKS[index % len(LOOKS)]
        for curve in configuration.curves:
            axes.plot(list(curve), list(curve.values()), color=color, linestyle=line, **THIN)
        first, *others = configuration.curves
        steps = [step for step in first if all(step in curve for curve in others)]
        low, high = ([end(curve[step] for curve in configuration.curves) for step in steps] for end in (min, max))
        axes.fill_between(steps, low, high, color=color, alpha=0.2, linewidth=0)
        ends = [last for curve in configuration.curves if (last := last_number(curve.values())) is not None]
        if ends:
            name = fitted(f"{configuration.name} (n = {len(configuration.curves)})", 48, 1)
            text = f"{name}  mean {format_number(fmean(ends))}\n{fitted(configuration.detail, 48, 1)}"
            labels.append(Label(text.rstrip(), fmean(ends), color))
    handles = [
        Line2D([], [], color=GREY, label="one seed", **THIN),
        Patch(color=GREY, alpha=0.2, linewidth=0, label="from the lowest to the highest of the seeds"),
    ]
    axes.legend(handles=handles, loc="upper right", frameon=False)
    label_right({axes: labels})
    return figure
