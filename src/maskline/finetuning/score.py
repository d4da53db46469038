"""Scoring a task on its test split: two models, and the rules that they are read against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from maskline.adapters.directory import read
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
from maskline.dataset.read import ID, Dataset, read_dataset
from maskline.finetuning.cases import write_cases
from maskline.finetuning.run import Start
from maskline.finetuning.settings import FinetuneParams
from maskline.finetuning.task import AnyTask, Baseline, Details, Encoded, Pretrained, TaskFactory
from maskline.model.heads import EncoderModel
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import check_tokenizer

STAGES: dict[Start, str] = {"pretrained": "finetune", "scratch": "scratch"}
EXAMPLES = "examples"
"""Key of the number of test examples."""
FURTHER = "further_tests"
"""Key of the numbers of test splits beside the first, by their names."""
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
    """Score the task `name` on its test split, and on each further test that its examples have.

    Writes the numbers to the folder `metrics`, and to a new directory `report` the tables, and which numbers to look at
    first beside what they are held against. A further test has its tables in a folder of `report`, and its numbers
    under `further_tests`, by its name.

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
    encoded = {
        split: task.encode(dataset.splits[split], loaded, recipe.max_seq_length)
        for split in ("test", *dataset.further_tests)
    }
    predictions: dict[Start, dict[str, Any]] = {}
    for start, directory in models.items():
        stage = f"{STAGES[start]}@{name}"
        model = load_model(task, directory, stage, data, pretrained, pretrained_by).to(device)
        check_tokenizer(directory, tokenizer, stage)
        predictions[start] = {split: task.predict(model, part, device) for split, part in encoded.items()}
    check_start(models["pretrained"], f"{STAGES['pretrained']}@{name}", pretrained, pretrained_by)
    encoder = Pretrained(pretrained, pretrained_by, loaded, device)
    outcomes = {
        split: _outcome(
            task, dataset.scored_on(split), part, {start: predictions[start][split] for start in models}, encoder
        )
        for split, part in encoded.items()
    }
    _write_report(report, name, task, outcomes)
    numbers = dict(outcomes["test"].numbers)
    if dataset.further_tests:
        numbers[FURTHER] = {split: outcomes[split].numbers for split in dataset.further_tests}
    write_json(metrics / METRICS, numbers)
    warnings = [
        f"{_title(name, split)}: {warning}"
        for split, outcome in outcomes.items()
        for warning in outcome.warnings(recipe.max_seq_length)
    ]
    return Score(numbers, warnings)


@dataclass(frozen=True)
class _Outcome:
    """How a test split came out."""

    ids: Sequence[str]
    cut: int
    baselines: Sequence[Baseline]
    details: Details
    numbers: dict[str, Any]
    """Key of metrics.json -> number, None where there is none."""

    def warnings(self, max_seq_length: int) -> list[str]:
        """Return what a reader of the numbers has to know."""
        cut = f"{self.cut:,} of {len(self.ids):,} test examples are longer than {max_seq_length} tokens and were cut"
        return [*([cut] if self.cut else []), *self.details.warnings]


def _outcome(
    task: AnyTask, dataset: Dataset, test: Encoded, predictions: Mapping[Start, Any], pretrained: Pretrained
) -> _Outcome:
    """Return how the test split of `dataset` came out, which is encoded as `test`; the rules learn anew for each."""
    examples = dataset.splits["test"]
    baselines = [
        Baseline(SCRATCH.key, SCRATCH.name, task.scores(test, predictions["scratch"])),
        *task.probe(dataset, pretrained),
        *task.baselines(dataset, pretrained),
    ]
    details = task.details(examples, test, predictions["pretrained"])
    numbers: dict[str, float | None] = {
        **task.scores(test, predictions["pretrained"]),
        **{f"{rule.key}_{metric}": value for rule in baselines for metric, value in rule.scores.items()},
    }
    for metric, bounds in details.intervals.items():
        numbers |= interval(metric, bounds)
    numbers[EXAMPLES] = len(examples[ID])
    return _Outcome(examples[ID], test.cut, baselines, details, finite(numbers))


def _title(name: str, split: str) -> str:
    """Return what a test split of the task `name` is called."""
    return name if split == "test" else f"{name}, {split}"


def _write_report(directory: Path, name: str, task: AnyTask, outcomes: Mapping[str, _Outcome]) -> None:
    """Write a new directory: the tables of each test split and its predictions, and which numbers to look at first."""
    fresh_directory(directory)
    for split, outcome in outcomes.items():
        folder = directory if split == "test" else directory / split
        for file, table in outcome.details.tables.items():
            write_csv(folder / file, table.rows, table.columns)
        write_cases(folder, _title(name, split), outcome.ids, outcome.details.cases)
    headlines = [line for split, outcome in outcomes.items() for line in _headlines(task, outcome, split)]
    curves = [CurveSpec(metric, title) for metric, title in task.metrics.items()]
    Report(name, headlines, outcomes["test"].details.figures, curves).write(directory / REPORT)
    write_manifest(directory, {})


def _headlines(task: AnyTask, outcome: _Outcome, split: str) -> list[Headline]:
    """Return which numbers to look at first, those of a further test by its name, beside what they are held against."""
    place, behind = ("", "") if split == "test" else (f"{FURTHER}.{split}.", f", {split}")
    return [
        Headline(
            f"{place}{metric}",
            f"{title}{behind}",
            "higher",
            {f"{place}{rule.key}_{metric}": rule.name for rule in outcome.baselines if metric in rule.scores},
            f"{place}{EXAMPLES}",
        )
        for metric, title in task.metrics.items()
    ]


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


def load_model(
    task: AnyTask,
    directory: Path,
    stage: str,
    data: Path,
    pretrained: Path | None = None,
    pretrained_by: str = "pretrain",
) -> EncoderModel:
    """Return the model of `task` that `stage` wrote to `directory`.

    What is no whole model stands on the encoder in `pretrained`, which `pretrained_by` wrote; None: in the directory
    that it names.

    Raises:
        UserError: the directory is incomplete, its model was trained on other answers than those in `data`, or on
            another encoder.
    """
    saved = read(directory, stage, pretrained, encoder_stage=pretrained_by)
    for name, value in task.config().items():
        if saved.config.get(name) != value:
            raise UserError(f"{directory} has {name} {saved.config.get(name)}, {data} {value}: run `dvc repro {stage}`")
    model = task.new_model(saved.params, saved.vocab_size, 0.0)
    saved.copy_into(model, may_lack=() if model.pooled else saved.names.pooler)
    return model
