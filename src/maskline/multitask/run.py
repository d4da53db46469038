"""Training several tasks at once, each with a head of its own on one encoder, and scoring each."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from maskline.core.errors import UserError
from maskline.core.scores import finite
from maskline.core.storage import MANIFEST, read_manifest, sha256, sweep, write_csv, write_timing
from maskline.core.text import escape
from maskline.dataset.read import ID, Dataset, read_dataset
from maskline.finetuning import run as finetuning
from maskline.finetuning.objective import FinetuningObjective
from maskline.finetuning.run import LOG_EVERY
from maskline.finetuning.score import check_start, load_model
from maskline.finetuning.settings import FinetuneParams, FinetuningSettings
from maskline.finetuning.task import AnyTask, TaskFactory
from maskline.model.directory import TokenizerFiles, data_table, export, model_card
from maskline.model.heads import EncoderModel
from maskline.multitask.objective import Mixture, MultitaskObjective, shares
from maskline.multitask.settings import MultitaskSettings
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import files_for_model
from maskline.training import distributed
from maskline.training.devices import choose_loaders, crowding, describe, memory_explained, with_precision
from maskline.training.loop import Cadence, Metrics, train
from maskline.training.progress import Reporter, process_reporter
from maskline.training.reports import write_reports
from maskline.training.states import REPORTS, ResumableRun, identity_of

STAGE = "multitask"
SCORES = "scores.csv"
SCORE_COLUMNS = ("task", "score", "together", "alone", "lower", "upper", "examples")
"""`lower` and `upper` bound the 95 % interval of `together`; `alone` is empty where there is no such model."""


@dataclass(frozen=True)
class Paths:
    """What the command reads and writes; a task has a folder of its name in `data`, `alone` and `models`."""

    data: Path
    tokenizer: Path
    pretrained: Path
    alone: Path
    """The models that were trained on one task each, to compare with; they need not be there."""
    models: Path
    """The directory of models that is written."""
    reports: Path


@memory_explained()
def train_together(
    factories: Mapping[str, TaskFactory], settings: MultitaskSettings, paths: Paths, device: torch.device
) -> list[dict[str, Any]]:
    """Train the tasks of `settings` on one encoder; write a model for each, curves and scores on the test splits.

    An interrupted run goes on. Each task's examples come in the order in which it has them when it is trained alone,
    and its head starts from the same weights.

    Args:
        factories: name -> what makes the task.
        settings: all that is read.
        paths: where from and where to.
        device: where to compute.

    Returns:
        Rows of SCORES: the scores of each task beside those of its model that was trained alone, where there is one.

    Raises:
        UserError: data or encoder do not fit the parameters, training diverged, memory ran out, or it was interrupted.
    """
    recipe = with_precision(settings.recipe, device)
    datasets = {name: read_dataset(paths.data / name, name) for name in settings.tasks}
    own = {
        name: chosen.model_copy(update={"recipe": _shared(name, chosen, recipe)})
        for name, chosen in settings.tasks.items()
    }
    parts = {name: _part(name, factories[name], datasets[name], chosen, paths, device) for name, chosen in own.items()}
    alone = {name: own[name].recipe.total_steps(part.updates) for name, part in parts.items()}
    steps = settings.multitask.steps or sum(alone.values())
    examples = {name: len(dataset.splits["train"][ID]) for name, dataset in datasets.items()}
    parted = shares(examples, settings.multitask.power)
    mixture = Mixture([*parted.values()], steps, settings.seed)
    updates = mixture.updates(steps)
    if idle := [name for name, count in zip(parts, updates, strict=True) if not count]:
        raise UserError(f"none of the {steps} steps is of {idle[0]}: raise multitask.steps, or lower multitask.power")
    objective = MultitaskObjective(parts, settings.multitask.weights, mixture, device)
    every = -(-steps // settings.multitask.evaluations)
    is_main = distributed.rank() == 0
    identity = _identity(settings, own, recipe, paths)
    with (
        process_reporter(STAGE, steps, settings.compute) as reporter,
        ResumableRun(identity, reporter.say, exclusive=is_main) as run,
    ):
        for line in _plan(settings, recipe, mixture, parted, alone, steps, device):
            reporter.say(f"{STAGE}: {line}")
        if is_main:
            for report in (*REPORTS, SCORES):
                sweep(paths.reports / report)
        cadence, loaders = Cadence(every, every, LOG_EVERY), choose_loaders(settings.compute, device)
        result = train(objective, recipe, steps, cadence, settings.seed, run, reporter, loaders)
        if not is_main:
            return []
        best = result.progress.best_row()
        objective.model.load_state_dict(result.best_weights)
        for name, part in parts.items():
            _export(name, part, own, settings, paths, datasets[name].manifest, best, identity)
        rows = [
            row
            for name, part in parts.items()
            for row in _scores(name, part, datasets[name], own[name], paths, reporter)
        ]
        write_csv(paths.reports / SCORES, rows, SCORE_COLUMNS)
        more = {
            "updates": dict(zip(parts, mixture.updates(result.progress.step), strict=True)),
            "shares": parted,
            "examples": examples,
            "parameters": sum(parameter.numel() for parameter in objective.model.parameters()),
        }
        write_reports(paths.reports, result.progress, objective, steps, more)
        write_timing(STAGE, result.progress.seconds)
        run.finish()
    return rows


def _part(
    name: str,
    make_task: TaskFactory,
    dataset: Dataset,
    settings: FinetuningSettings,
    paths: Paths,
    device: torch.device,
) -> FinetuningObjective:
    """Return a task before its first update, as it begins when it is trained alone."""
    where = finetuning.Paths(paths.data / name, paths.tokenizer, Path(), Path(), paths.pretrained)
    task = make_task(settings.recipe, dataset.manifest)
    return finetuning.prepare(task, dataset, settings, settings.recipe, where, device)


def _shared(name: str, settings: FinetuningSettings, recipe: FinetuneParams) -> FinetuneParams:
    """Return the recipe of a task with what is of the encoder from the one that all share.

    Raises:
        UserError: it leaves the encoder as it is.
    """
    if settings.recipe.few:
        raise UserError(
            f"finetune.method of {name} is {settings.recipe.method}, which leaves the encoder as it is, and the tasks "
            "of multitask train it together: set it to full"
        )
    return settings.recipe.model_copy(update={"dropout": recipe.dropout, "precision": recipe.precision})


def _plan(
    settings: MultitaskSettings,
    recipe: FinetuneParams,
    mixture: Mixture,
    parted: Mapping[str, float],
    alone: Mapping[str, int],
    steps: int,
    device: torch.device,
) -> list[str]:
    """Return what a user should know before the first update; `alone` are the updates of each task by itself."""
    lines = [f"from pretrained weights on {describe(device)} in {recipe.precision}, {steps} steps"]
    for name, updates in zip(settings.tasks, mixture.updates(steps), strict=True):
        lines.append(f"{updates} steps are of {name}, by a share of {parted[name]:.1%}; alone it takes {alone[name]}")
        if settings.tasks[name].recipe.text_epochs:
            lines.append(f"the texts of {name} are not read before the labels, as text_epochs says for it alone")
    return [*lines, *([crowded] if (crowded := crowding(device)) else [])]


def _identity(
    settings: MultitaskSettings, own: Mapping[str, FinetuningSettings], recipe: FinetuneParams, paths: Paths
) -> dict[str, Any]:
    params = {
        "seed": settings.seed,
        "multitask": settings.multitask.model_dump(),
        "finetune": recipe.model_dump(),
        "tasks": {name: part.recipe.model_dump() for name, part in own.items()},
    }
    inputs = {f"data of {name}": paths.data / name for name in own}
    return identity_of(STAGE, params, inputs | {"tokenizer": paths.tokenizer, "pretrained": paths.pretrained})


def _export(
    name: str,
    part: FinetuningObjective,
    own: Mapping[str, FinetuningSettings],
    settings: MultitaskSettings,
    paths: Paths,
    manifest: Mapping[str, Any],
    metrics: Metrics,
    identity: dict[str, Any],
) -> None:
    """Write the network of one task, a whole model as if it had been trained alone."""
    model, task = part.model, part.task
    pretrained = read_manifest(paths.pretrained, settings.encoder.stage)
    others = [escape(other) for other in own if other != name]
    note = (
        f"{escape(task.summary)}; fine-tuned by maskline from pretrained weights, at once with {', '.join(others)} on "
        "one encoder. Below are the scores on the validation splits that the weights were chosen by; those on the test "
        f"split are in `reports/multitask/{SCORES}` of the project."
    )
    tables: dict[str, dict[str, Any]] = {
        "Validation": metrics,
        "Data": {
            **data_table(manifest),
            **{f"examples ({split})": found["examples"] for split, found in manifest["splits"].items()},
        },
        "Data of pretraining": pretrained.get("data", {}),
        "Origin of the encoder": pretrained.get("origin", {}),
        "Training": {"seed": settings.seed, **settings.multitask.model_dump(), **own[name].recipe.model_dump()},
        "SHA-256 of the inputs' manifests and of the source": identity["inputs"] | {"source": identity["source"]},
    }
    shape = model.encoder.params
    title = f"maskline {model.architecture.title} for {name}"
    card = model_card(title, settings.language, tables, note, shape.architecture)
    files = TokenizerFiles(
        *files_for_model(paths.tokenizer, shape.max_positions, segments=shape.next_sentence, fills_masks=False)
    )
    untrained = () if model.pooled else model.architecture.names.pooler
    provenance = {**identity, "task": name}
    export(paths.models / name, model, model.exported_as, files, card, provenance, task.config(), untrained=untrained)


def _scores(
    name: str,
    part: FinetuningObjective,
    dataset: Dataset,
    settings: FinetuningSettings,
    paths: Paths,
    reporter: Reporter,
) -> list[dict[str, Any]]:
    """Return the scores of a task on its test split, beside those of the model that was trained on it alone."""
    task, examples = part.task, dataset.splits["test"]
    test = task.encode(examples, load_tokenizer(paths.tokenizer), settings.recipe.max_seq_length)
    predictions = task.predict(part.model, test, part.device)
    together, intervals = finite(task.scores(test, predictions)), task.details(examples, test, predictions).intervals
    single = _alone(name, task, settings, paths, reporter)
    alone = finite(task.scores(test, task.predict(single.to(part.device), test, part.device))) if single else {}
    return [
        {
            "task": name,
            "score": metric,
            "together": together[metric],
            "alone": alone.get(metric),
            "lower": intervals[metric][0] if metric in intervals else None,
            "upper": intervals[metric][1] if metric in intervals else None,
            "examples": len(examples[ID]),
        }
        for metric in task.metrics
    ]


def _alone(
    name: str, task: AnyTask, settings: FinetuningSettings, paths: Paths, reporter: Reporter
) -> EncoderModel | None:
    """Return the model that was trained on the task alone; None where there is none to compare with, and say so."""
    directory, stage = paths.alone / name, f"finetune@{name}"
    try:
        check_start(directory, stage, paths.pretrained, settings.encoder.stage)
        model = load_model(task, directory, stage, paths.data / name, paths.pretrained, settings.encoder.stage)
    except UserError as error:
        reason = str(error)
    else:
        if read_manifest(directory, stage)["inputs"].get("data") == sha256(paths.data / name / MANIFEST):
            return model
        reason = f"{directory} was trained on other examples than those in {paths.data / name}: run `dvc repro {stage}`"
    reporter.say(f"{STAGE}: {name} is not compared with its training alone: {reason}")
    return None
