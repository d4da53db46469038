"""Sections of the page of a run: the curves of pretraining and of fine-tuning."""

import math
from collections.abc import Mapping, Sequence

from maskline.core.storage import read_json
from maskline.page import figures
from maskline.page.cells import score_cell, whole
from maskline.page.curves import Training, read_training, table
from maskline.page.document import Figure, Section, controls, grid
from maskline.page.elements import folded, paragraph, text
from maskline.page.elements import table as html_table
from maskline.page.source import Source
from maskline.reporting.scores import TASKS, read_task
from maskline.reporting.tables import format_number
from maskline.reporting.task_figures import baselines

PANELS = {
    "mlm_loss": ("Masked tokens (MLM): loss", "nats per masked token"),
    "nsp_loss": ("Next sentence (NSP): loss", "nats per pair"),
    "mlm_accuracy": ("Masked tokens (MLM): accuracy", "share of the masked tokens"),
    "nsp_accuracy": ("Next sentence (NSP): accuracy", "share of the pairs"),
}
"""Column of the pretraining curves -> title and unit."""
AGAINST = {
    "mlm_loss": "mlm.unigram_loss",
    "mlm_accuracy": "mlm.unigram_accuracy",
    "nsp_accuracy": "nsp.overlap_accuracy",
}
"""Column of the pretraining curves -> key of the metric that it is held against."""
STARTS = {"finetune": "pretrained", "scratch": "random weights"}
"""Stage that trains on a task -> where it starts."""


def pretraining(source: Source) -> Section:
    """Return the curves of pretraining, training against validation."""
    training = read_training(source.reports / "pretrain", "pretraining", source.seconds("pretrain"))
    facts = read_json(source.reports / "pretrain" / "metrics.json")
    scored = source.scores()[0].get("")
    drawn = pretraining_figures([training], scored.metrics if scored else {})
    best, steps = facts.get("best", {}), facts.get("steps")
    said = [
        f"{whole(steps)} updates, {whole(facts.get('tokens'))} tokens, {whole(facts.get('parameters'))} parameters",
        f"best validation loss {format_number(best.get('loss'))} nats, at step {whole(best.get('step'))}",
    ]
    if training.seconds is not None:
        said.append(f"{training.seconds:,.1f} seconds, scores included, spread over the tokens for the curves")
    content = paragraph(text("; ".join(said)) + ".") + controls(drawn) + grid(drawn)
    content += folded("Validation scores as a table", _series_table(training, ""), "pretraining-scores")
    return Section("pretraining", "Pretraining", content, drawn, source.pictures("pretraining"))


def pretraining_figures(
    trainings: Sequence[Training], metrics: Mapping[str, float | None], prefix: str = ""
) -> list[Figure]:
    """Return a figure of each curve of pretraining that has a number; `metrics` has what they are held against."""
    drawn = []
    for column, (title, unit) in PANELS.items():
        if not any(training.has(column) for training in trainings):
            continue
        data, note = table(trainings, column)
        value = metrics.get(AGAINST.get(column, ""))
        names = {
            "mlm_loss": "unigram frequencies",
            "mlm_accuracy": "most frequent token",
            "nsp_accuracy": "word overlap",
        }
        lines = [(value, names[column])] if value is not None and column in names else []
        if column == "nsp_loss":
            lines = [(math.log(2), "ln 2, a coin")]
        key = f"{prefix}pretraining-{column.replace('_', '-')}"
        drawn.append(
            figures.curves(
                key,
                title,
                unit,
                data,
                lines,
                caption=text(note),
                is_loss=column.endswith("loss"),
                shares=column.endswith("accuracy"),
            )
        )
    return drawn


def finetuning(source: Source, task: str, place_: int) -> Section:
    """Return the curves of a task: from pretrained against from random weights."""
    folder = source.reports / TASKS / task
    trainings = [
        read_training(folder / stage, name, source.seconds(f"{stage}@{task}")) for stage, name in STARTS.items()
    ]
    part = read_task(source.reports, task)
    lines = baselines(part)
    data, note = table(trainings, "loss")
    title = f"training-{place_}"
    drawn = [figures.curves(f"{title}-loss", "Loss", "nats per example", data, caption=text(note), is_loss=True)]
    for number_, curve in enumerate(part.report.curves):
        data, note = table(trainings, curve.column)
        held = lines.get(curve.column, ())
        values = [value for training in trainings for value in training.validation.get(curve.column, ())]
        drawn.append(
            figures.curves(
                f"{title}-{number_}",
                curve.name,
                f"{curve.name} (validation split)",
                data,
                held,
                caption=f"Dashed lines are of the test split. {text(note)}" if held else text(note),
                shares=all(0 <= value <= 1 or math.isnan(value) for value in (*values, *(value for value, _ in held))),
            )
        )
    tables = "".join(
        folded(
            f"{text(training.name)}: validation scores as a table", _series_table(training, task), f"{title}-scores-{n}"
        )
        for n, training in enumerate(trainings)
    )
    content = controls(drawn) + grid(drawn) + tables
    return Section(title, f"Fine-tuning: {task}", content, drawn, source.pictures(f"{task}-finetuning"))


def _series_table(training: Training, task: str) -> str:
    """Return the scores of a training, those that were taken."""
    columns = [name for name in training.validation if training.has(name)]
    rows = [
        [score_cell(value, digits=6) for value in row]
        for row in zip(*(training.validation[name] for name in columns), strict=True)
    ]
    title = ", ".join(filter(None, (task, training.name)))
    return html_table(f"{title}: validation scores", [text(name.replace("_", " ")) for name in columns], rows)
