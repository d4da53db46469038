"""The figures of a run, drawn from the curve files under reports/.

Hue says which model, weight says which split: training is a thin line, validation a thick one with a point for each
measurement. What is missing is a gap.
"""

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from maskline.core.errors import UserError
from maskline.core.scores import CurveSpec, FigureSpec
from maskline.core.storage import fresh_directory, read_csv, write_manifest
from maskline.reporting.scores import SCORE, TASKS, Scores, read_scores
from maskline.reporting.series import Series, last_number, read_series, to_series
from maskline.reporting.style import BLUE, CYCLE, GREY, INK, VERMILION, Label, fitted, inches, label_right, save, theme
from maskline.reporting.tables import ABSENT, format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STEP = "step (optimizer updates)"
SCORED = "test split, from pretrained weights"
"""What the tables of a task are about."""
CELL = 0.75
"""Inches of a side of a cell in a matrix."""


def plot_reports(reports: Path, tasks: Sequence[str], out: Path) -> None:
    """Draw every figure of the run under `reports` into `out`, as SVG and PNG.

    The reports of other tasks than `tasks` are of a run before, and are removed: a number that nothing made is worse
    than none.

    Raises:
        UserError: a file that a stage writes is missing, or lacks a column.
    """
    for folder in sorted(path for path in (reports / TASKS).iterdir() if path.is_dir() and path.name not in tasks):
        shutil.rmtree(folder)
    fresh_directory(out)
    scores = read_scores(reports, tasks)
    pretrain = reports / "pretrain"
    with theme():
        outcomes = read_csv(reports / "corpus" / "articles.csv")
        lengths = read_series(reports / "corpus" / "lengths.csv", ("characters", "articles"))
        sentences = read_series(reports / "tokenize" / "sentences.csv", ("sentences", "train", "validation"))
        save(corpus(outcomes, lengths, sentences), out / "corpus")
        rows = read_csv(pretrain / "train.csv")
        train = to_series(rows, ("step", "mlm_loss", "nsp_loss"), str(pretrain / "train.csv"))
        validation = read_series(pretrain / "validation.csv", ("step", "mlm_loss", "nsp_loss", "loss"))
        unigram_loss = scores[""].metrics.get("mlm.unigram_loss")
        save(pretraining(train, validation, unigram_loss, _lengthened(rows)), out / "pretraining")
        for task in tasks:
            folder, report = reports / TASKS / task, scores[task].report
            curves, lines = read_curves(folder, report.curves), baselines(scores[task])
            save(finetuning(task, curves, report.curves, lines), out / f"{task}-finetuning")
            for figure in report.figures:
                drawn = SHAPES[figure.shape](
                    f"{task}: {figure.title}, {SCORED}", figure, read_csv(folder / SCORE / figure.table)
                )
                save(drawn, out / f"{task}-{figure.name}")
    write_manifest(out, {})


def corpus(outcomes: Sequence[Mapping[str, str]], lengths: Series, sentences: Series) -> "Figure":
    """Return what became of the articles, how long they are, and how many sentences they have.

    `outcomes` has a row for each split, in blue, and then for each reason to drop articles, in grey; reasons without
    an article are left out. Articles of one sentence, of no use to next-sentence prediction, are in another colour.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.4, 3.2))
    panels = [figure.add_subplot(1, 3, index) for index in (1, 2, 3)]
    counts = to_series(outcomes, ["articles"], "the outcomes of the articles")["articles"]
    rows = [(row.get("outcome", ""), count) for row, count in zip(outcomes, counts, strict=True) if count > 0]
    names = [name.replace("_", " ") for name, _ in rows]
    kept = [name in {"train", "validation"} for name, _ in rows]
    bars = panels[0].barh(range(len(rows)), [count for _, count in rows], color=[BLUE if k else GREY for k in kept])
    panels[0].set_yticks(range(len(rows)), [fitted(name, 24, 2) for name in names])
    panels[0].bar_label(bars, [f"{count:,.0f}" for _, count in rows], padding=3, fontsize=8.5)
    panels[0].invert_yaxis()
    panels[0].margins(x=0.18)
    panels[0].grid(visible=False, axis="y")
    panels[0].set(title="Articles: kept and dropped", xlabel="articles")
    _histogram(panels[1], lengths["characters"], lengths["articles"])
    panels[1].set(title="Length", xlabel="characters (twofold steps)", ylabel="articles")
    totals = [sum(pair) for pair in zip(sentences["train"], sentences["validation"], strict=True)]
    _histogram(panels[2], sentences["sentences"], totals)
    single = totals[0] if sentences["sentences"][:1] == [1] else 0.0
    if single:
        panels[2].patches[0].set_facecolor(VERMILION)
    title = f"Sentences: {single / (sum(totals) or 1):.1%} of the articles have one"
    panels[2].set(title=title, xlabel="sentences (twofold steps)", ylabel="articles")
    return figure


def _histogram(axes: "Axes", bounds: Sequence[float], counts: Sequence[float]) -> None:
    """Draw counts between each of `bounds` and its double, from the first that is not empty."""
    first = next((index for index, count in enumerate(counts) if count), 0)
    axes.set_xscale("log", base=2)
    axes.bar(bounds[first:], counts[first:], width=bounds[first:], align="edge", color=BLUE, edgecolor="white")
    ticks = [*bounds[first:], 2 * bounds[-1]]
    axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks], fontsize=8, rotation=45 if len(ticks) > 8 else 0)
    axes.grid(visible=False, axis="x")


def _lengthened(rows: Sequence[Mapping[str, str]]) -> tuple[float, float] | None:
    """Return the first step with longer sequences in a training curve, and their tokens; None where there is none."""
    if not rows or "max_seq_length" not in rows[0]:
        return None
    curve = to_series(rows, ("step", "max_seq_length"), "the training curve")
    pairs = zip(curve["step"], curve["max_seq_length"], strict=True)
    return next(((step, length) for step, length in pairs if length > curve["max_seq_length"][0]), None)


def pretraining(
    train: Series, validation: Series, unigram_loss: float | None, lengthened: tuple[float, float] | None = None
) -> "Figure":
    """Return the loss of both objectives by step, train against validation.

    The panel of the sentence objective is left out where the run had none. A horizontal line marks what a model
    without context reaches: the unigram loss, and ln 2 for two classes in equal number. A ring marks the step of the
    lowest validation loss, whose weights are kept, and a dotted line the step from which on sequences are longer, of as
    many tokens as `lengthened` says beside it.
    """
    from matplotlib.figure import Figure

    panels = [("mlm_loss", "Masked tokens (MLM)", "loss (nats per masked token)", unigram_loss, "unigram")]
    if not all(map(math.isnan, validation["nsp_loss"])):
        panels.append(("nsp_loss", "Next sentence (NSP)", "loss (nats per pair)", math.log(2), "ln 2"))
    best = _best(validation["loss"])
    figure = Figure(figsize=(4.8 * len(panels), 3.4))
    labels = {}
    for index, (name, title, unit, reference, reference_name) in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), index)
        axes.set(title=title, xlabel=STEP, ylabel=unit)
        if lengthened:
            axes.axvline(lengthened[0], color=GREY, linewidth=1, linestyle=(0, (1, 2)))
            axes.set_xlabel(f"{STEP}\ndotted line: {lengthened[1]:.0f} tokens a sequence from here on")
        labels[axes] = _train(axes, train, name, BLUE, "train")
        labels[axes] += _validation(axes, validation, name, BLUE, "validation", best=best)
        labels[axes] += _reference(axes, reference, reference_name)
    label_right(labels)
    return figure


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
        labels[panels[0]] += _train(panels[0], training.train, "loss", training.color, f"{training.name}, train")
        text = f"{training.name}, validation"
        labels[panels[0]] += _validation(panels[0], training.validation, "loss", training.color, text)
    for axes, score in zip(panels[1:], scores, strict=True):
        axes.set(title=f"{name}: {score.name}", xlabel=STEP, ylabel=f"{score.name} (validation split)")
        for training in curves:
            labels[axes] += _validation(axes, training.validation, score.column, training.color, training.name)
        held = (lines or {}).get(score.column, ())
        for value, text in held:
            labels[axes] += _reference(axes, value, f"{fitted(text, 32, 1)}\ntest split")
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
    for color, model in zip((BLUE, VERMILION, *CYCLE[2:]), dict.fromkeys(row["model"] for row in rows), strict=False):
        points = [(int(row["labels"]), float(row["score"])) for row in rows if row["model"] == model]
        means = [fmean(value for size, value in points if size == at) for at in sizes]
        axes.plot([math.log(size) for size in sizes], means, color=color, zorder=3)
        places, values = zip(*points, strict=True)
        axes.scatter([math.log(size) for size in places], values, s=12, color=color, alpha=0.5, linewidths=0)
        labels.append(Label(f"{fitted(model, 32, 1)}  {format_number(means[-1])}", means[-1], color))
    axes.set_xticks([math.log(size) for size in sizes], [f"{size:,}" for size in sizes])
    label_right({axes: labels})
    return figure


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


def _train(axes: "Axes", series: Series, name: str, color: str, text: str) -> list[Label]:
    """Draw a noisy column over the steps; its label stands at the mean of the last tenth."""
    values = series[name]
    axes.plot(series["step"], values, color=color, linewidth=0.9, alpha=0.55, marker="o", markevery=_alone(values))
    tail = [value for value in values if not math.isnan(value)][-max(1, len(values) // 10) :]
    return [Label(text, fmean(tail), color)] if tail else []


def _validation(
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


def _reference(axes: "Axes", value: float | None, name: str) -> list[Label]:
    if value is None:
        return []
    axes.axhline(value, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    return [Label(f"{name}  {format_number(value)}", value, GREY)]


def _best(values: Sequence[float]) -> int | None:
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
