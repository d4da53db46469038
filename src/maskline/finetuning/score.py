"""Scoring a task on its test split: two models, and the rules that they are read against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from maskline.core.errors import UserError
from maskline.core.scores import METRICS, REPORT, CurveSpec, Headline, Report, finite, interval
from maskline.core.storage import (
    MANIFEST,
    fresh_directory,
    read_manifest,
    sha256,
    write_csv,
    write_json,
    write_manifest,
)
from maskline.dataset.read import ID, read_dataset
from maskline.finetuning.cases import write_cases
from maskline.finetuning.run import Start
from maskline.finetuning.settings import FinetuneParams
from maskline.finetuning.task import AnyTask, Baseline, Details, Pretrained, TaskFactory
from maskline.model.directory import POOLER, read_model
from maskline.model.heads import EncoderModel
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import check_tokenizer

STAGES: dict[Start, str] = {"pretrained": "finetune", "scratch": "scratch"}
EXAMPLES = "examples"
"""Key of the number of test examples."""
SCRATCH = Baseline("scratch", "without pretraining", {})


@dataclass(frozen=True)
class Score:
    """How a task came out."""

    metrics: dict[str, Any]
    warnings: list[str]


def score(
    name: str,
    make_task: TaskFactory,
    recipe: FinetuneParams,
    data: Path,
    tokenizer: Path,
    pretrained: Path,
    pretrained_by: str,
    models: Mapping[Start, Path],
    metrics: Path,
    report: Path,
    device: torch.device,
) -> Score:
    """Score the task `name` on its test split.

    Writes the numbers to the folder `metrics`, and to a new directory `report` the tables, and which numbers to look at
    first beside what they are held against.

    Args:
        name: of the task.
        make_task: makes a task of its kind.
        recipe: that both models were trained by.
        data: the examples.
        tokenizer: the one that both models were made with.
        pretrained: the model that fine-tuning started from.
        pretrained_by: the stage that wrote it.
        models: where the fine-tuned model is, and the same network trained from random weights.
        metrics: where metrics.json goes.
        report: where all else goes.
        device: where to compute.

    Raises:
        UserError: a model does not fit the examples or the tokenizer.
    """
    dataset, loaded = read_dataset(data, name), load_tokenizer(tokenizer)
    task = make_task(recipe, dataset.manifest)
    test = task.encode(dataset.splits["test"], loaded, recipe.max_seq_length)
    predictions = {}
    for start, directory in models.items():
        model = load_model(task, directory, f"{STAGES[start]}@{name}", data).to(device)
        check_tokenizer(directory, tokenizer, f"{STAGES[start]}@{name}")
        predictions[start] = task.predict(model, test, device)
    check_start(models["pretrained"], f"{STAGES['pretrained']}@{name}", pretrained, pretrained_by)
    scores: dict[str, float] = task.scores(test, predictions["pretrained"])
    baselines = [
        Baseline(SCRATCH.key, SCRATCH.name, task.scores(test, predictions["scratch"])),
        *task.baselines(dataset, Pretrained(pretrained, pretrained_by, loaded, device)),
    ]
    numbers: dict[str, float | None] = {
        **scores,
        **{f"{rule.key}_{metric}": value for rule in baselines for metric, value in rule.scores.items()},
    }
    details = task.details(dataset.splits["test"], test, predictions["pretrained"])
    ids = dataset.splits["test"][ID]
    for metric, bounds in details.intervals.items():
        numbers |= interval(metric, bounds)
    numbers[EXAMPLES] = len(ids)
    _write_report(report, name, task, baselines, details)
    write_cases(report, name, ids, details.cases)
    write_manifest(report, {})
    write_json(metrics / METRICS, finite(numbers))
    warnings = list(details.warnings)
    if test.cut:
        warnings.insert(
            0, f"{test.cut:,} of {len(ids):,} test examples are longer than {recipe.max_seq_length} tokens and were cut"
        )
    return Score(finite(numbers), [f"{name}: {warning}" for warning in warnings])


def _write_report(directory: Path, name: str, task: AnyTask, baselines: Sequence[Baseline], details: Details) -> None:
    """Write the tables, and which numbers to look at first beside what they are held against."""
    fresh_directory(directory)
    for file, table in details.tables.items():
        write_csv(directory / file, table.rows, table.columns)
    headlines = [
        Headline(
            metric,
            title,
            "higher",
            {f"{rule.key}_{metric}": rule.name for rule in baselines if metric in rule.scores},
            EXAMPLES,
        )
        for metric, title in task.metrics.items()
    ]
    curves = [CurveSpec(metric, title) for metric, title in task.metrics.items()]
    Report(name, headlines, details.figures, curves).write(directory / REPORT)


def check_start(model: Path, stage: str, pretrained: Path, pretrained_by: str) -> None:
    """Refuse a model that `stage` fine-tuned from another one than that in `pretrained`, which `pretrained_by` wrote.

    Raises:
        UserError: it was, or that directory is incomplete.
    """
    read_manifest(pretrained, pretrained_by)
    if read_manifest(model, stage).get("inputs", {}).get("pretrained") != sha256(pretrained / MANIFEST):
        raise UserError(
            f"{model} was fine-tuned from another model than the one in {pretrained}: run `dvc repro {stage}`"
        )


def load_model(task: AnyTask, directory: Path, stage: str, data: Path) -> EncoderModel:
    """Return the model of `task` that `stage` wrote to `directory`.

    Raises:
        UserError: the directory is incomplete, or its model was trained on other answers than those in `data`.
    """
    saved = read_model(directory, stage)
    for name, value in task.config().items():
        if saved.config.get(name) != value:
            raise UserError(f"{directory} has {name} {saved.config.get(name)}, {data} {value}: run `dvc repro {stage}`")
    model = task.new_model(saved.params, saved.vocab_size, 0.0)
    saved.copy_into(model, may_lack=() if model.pooled else (POOLER,))
    return model
