"""The figures of a run, drawn from the curve files under reports/."""

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from maskline.core.storage import fresh_directory, read_csv, write_manifest
from maskline.reporting.lines import STEP, best_of, reference_line, train_line, validation_line
from maskline.reporting.scores import SCORE, TASKS, read_scores
from maskline.reporting.series import Series, read_series, to_series
from maskline.reporting.style import BLUE, GREY, VERMILION, fitted, label_right, save, theme
from maskline.reporting.task_figures import SHAPES, baselines, finetuning, read_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCORED = "test split, from pretrained weights"
"""What the tables of a task are about."""


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
    best = best_of(validation["loss"])
    figure = Figure(figsize=(4.8 * len(panels), 3.4))
    labels = {}
    for index, (name, title, unit, reference, reference_name) in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), index)
        axes.set(title=title, xlabel=STEP, ylabel=unit)
        if lengthened:
            axes.axvline(lengthened[0], color=GREY, linewidth=1, linestyle=(0, (1, 2)))
            axes.set_xlabel(f"{STEP}\ndotted line: {lengthened[1]:.0f} tokens a sequence from here on")
        labels[axes] = train_line(axes, train, name, BLUE, "train")
        labels[axes] += validation_line(axes, validation, name, BLUE, "validation", best=best)
        labels[axes] += reference_line(axes, reference, reference_name)
    label_right(labels)
    return figure
