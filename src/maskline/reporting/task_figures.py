"""The figures of a task: its curves, what its tables look like, and what labels are worth. Hue says which model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from maskline.core.errors import UserError
from maskline.core.scores import CurveSpec, FigureSpec
from maskline.reporting.lines import STEP, reference_line, train_line, validation_line
from maskline.reporting.scores import Scores
from maskline.reporting.series import Series, read_series, to_series
from maskline.reporting.style import BLUE, CYCLE, INK, VERMILION, Label, fitted, inches, label_right
from maskline.reporting.tables import ABSENT, format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL = 0.75
"""Inches of a side of a cell in a matrix."""


@dataclass(frozen=True)
class Training:
    """The curves of one fine-tuning."""

    name: str
    color: str
    train: Series
    validation: Series


def read_curves(folder: Path, scores: Sequence[CurveSpec]) -> list[Training]:
    """Return the curves of a task: from pretrained weights, and from random ones."""
    columns = ("step", "loss", *(score.column for score in scores))
    return [
        Training(
            name,
            color,
            read_series(folder / stage / "train.csv", ("step", "loss")),
            read_series(folder / stage / "validation.csv", columns),
        )
        for stage, name, color in (("finetune", "pretrained", BLUE), ("scratch", "random init", VERMILION))
    ]


def baselines(scores: Scores) -> dict[str, list[tuple[float, str]]]:
    """Return what each metric of a task is held against: numbers and names; what has a curve of its own aside."""
    return {
        headline.metric: [
            (value, name)
            for key, name in headline.against.items()
            if key != f"scratch_{headline.metric}" and (value := scores.metrics.get(key)) is not None
        ]
        for headline in scores.report.headlines
    }


def finetuning(
    task: str,
    curves: Sequence[Training],
    scores: Sequence[CurveSpec],
    lines: Mapping[str, Sequence[tuple[float, str]]] | None = None,
) -> "Figure":
    """Return the loss and each of `scores` of a task by step: from pretrained against from random weights.

    Horizontal lines mark the baselines, which are of the test split: metric -> numbers and names. Shares have the whole
    axis from 0 to 1, so that no difference looks larger than it is.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.7 + 4.4 * (1 + len(scores)), 3.4))
    panels = [figure.add_subplot(1, 1 + len(scores), 1 + number) for number in range(1 + len(scores))]
    labels: dict[Axes, list[Label]] = {axes: [] for axes in panels}
    name = fitted(task, 24, 1)
    panels[0].set(title=f"{name}: loss", xlabel=STEP, ylabel="loss (nats per example)")
    for training in curves:
        labels[panels[0]] += train_line(panels[0], training.train, "loss", training.color, f"{training.name}, train")
        text = f"{training.name}, validation"
        labels[panels[0]] += validation_line(panels[0], training.validation, "loss", training.color, text)
    for axes, score in zip(panels[1:], scores, strict=True):
        axes.set(title=f"{name}: {score.name}", xlabel=STEP, ylabel=f"{score.name} (validation split)")
        for training in curves:
            labels[axes] += validation_line(axes, training.validation, score.column, training.color, training.name)
        held = (lines or {}).get(score.column, ())
        for value, text in held:
            labels[axes] += reference_line(axes, value, f"{fitted(text, 32, 1)}\ntest split")
        drawn = [value for training in curves for value in training.validation[score.column]]
        if all(0 <= value <= 1 or math.isnan(value) for value in (*drawn, *(value for value, _ in held))):
            axes.set_ylim(0, 1)
    label_right(labels)
    return figure


def matrix(title: str, spec: FigureSpec, rows: Sequence[Mapping[str, str]]) -> "Figure":
    """Return how often each name was taken for each: counts, and the share of each row in per cent.

    Raises:
        UserError: a count is missing or no number.
    """
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for row in rows for name in (row[spec.y], row[spec.x])))
    counts = dict.fromkeys(product(names, repeat=2), 0)
    for pair, count in zip(rows, to_series(rows, [spec.value], title)[spec.value], strict=True):
        if math.isnan(count):
            raise UserError(f"{title} has no {spec.value} for {pair[spec.y]} taken for {pair[spec.x]}")
        counts[pair[spec.y], pair[spec.x]] += int(count)
    totals = {label: sum(counts[label, other] for other in names) for label in names}
    shares = [[counts[label, other] / max(1, totals[label]) for other in names] for label in names]
    shown = [fitted(name, 24, 3) for name in names]
    rules = [f"{name}\n(n = {totals[label]:,})" for name, label in zip(shown, names, strict=True)]
    widest = inches(shown, 9)
    tilted = len(names) > 3 or widest > 0.9 * CELL
    cells = CELL * len(names)
    figure = Figure(figsize=(cells + 1.2 + inches(rules, 9), cells + 1.2 + (0.7 * widest if tilted else 0.2)))
    axes = figure.add_subplot()
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    tilt: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if tilted else {}
    axes.set_xticks(range(len(names)), shown, **tilt)
    axes.set_yticks(range(len(names)), rules)
    axes.set(title=fitted(title, 48, 2), xlabel=spec.x, ylabel="true")
    for row, other in product(range(len(names)), repeat=2):
        color = "white" if shares[row][other] > 0.55 else INK
        share = f"{shares[row][other]:.1%}" if totals[names[row]] else ABSENT
        for text, height, size in ((f"{counts[names[row], names[other]]:,}", 6, 11), (share, -8, 8)):
            axes.annotate(
                text,
                (other, row),
                xytext=(0, height),
                textcoords="offset points",
                ha="center",
                va="center",
                color=color,
                fontsize=size,
            )
    return figure


def bars(title: str, spec: FigureSpec, rows: Sequence[Mapping[str, str]]) -> "Figure":
    """Return a bar for each row, as long as its number, a share, says."""
    from matplotlib.figure import Figure

    values = to_series(rows, [spec.value], title)[spec.value]
    names = [fitted(row[spec.y], 32, 2) for row in rows]
    figure = Figure(figsize=(4.6 + inches(names, 9), 1.1 + 0.32 * len(rows)))
    axes = figure.add_subplot()
    drawn = axes.barh(range(len(rows)), values, color=BLUE)
    axes.set_yticks(range(len(rows)), names)
    axes.bar_label(drawn, [format_number(value) for value in values], padding=3, fontsize=8.5)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.grid(visible=False, axis="y")
    axes.set(title=fitted(title, 48, 2), xlabel=spec.x)
    return figure


def scatter(title: str, spec: FigureSpec, rows: Sequence[Mapping[str, str]]) -> "Figure":
    """Return a point for each row: its number over that of the column `y`."""
    from matplotlib.figure import Figure

    columns = to_series(rows, [spec.y, spec.value], title)
    figure = Figure(figsize=(5.2, 4.4))
    axes = figure.add_subplot()
    axes.scatter(columns[spec.y], columns[spec.value], s=9, color=BLUE, alpha=0.35, linewidths=0)
    axes.set(title=fitted(title, 48, 2), xlabel=spec.x, ylabel=spec.value.replace("_", " "))
    return figure


SHAPES = {"matrix": matrix, "bars": bars, "scatter": scatter}
"""Shape of a figure in a report -> what draws it."""


def learning_curve(task: str, score: str, rows: Sequence[Mapping[str, str]]) -> "Figure":
    """Return the score by number of labels, a line of means over the seeds for each model, and a point for each run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 4.2))
    axes = figure.add_subplot()
    axes.set(title=f"{fitted(task, 24, 1)}: what labels are worth", xlabel="labelled examples")
    axes.set_ylabel(f"{score} (test split)")
    labels = []
    sizes = sorted({int(row["labels"]) for row in rows})
    place = {size: 0.25 + math.log(size / sizes[0]) for size in sizes}  # the axis begins at 0
    for color, model in zip((BLUE, VERMILION, *CYCLE[2:]), dict.fromkeys(row["model"] for row in rows), strict=False):
        points = [(int(row["labels"]), float(row["score"])) for row in rows if row["model"] == model]
        means = [fmean(value for size, value in points if size == at) for at in sizes]
        axes.plot(list(place.values()), means, color=color, zorder=3)
        axes.scatter(
            [place[size] for size, _ in points],
            [value for _, value in points],
            s=12,
            color=color,
            alpha=0.5,
            linewidths=0,
        )
        labels.append(Label(f"{fitted(model, 32, 1)}  {format_number(means[-1])}", means[-1], color))
    axes.set_xticks(list(place.values()), [f"{size:,}" for size in sizes])
    label_right({axes: labels})
    return figure
