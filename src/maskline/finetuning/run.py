"""Fine-tuning on a task, from pretrained or random weights: all of them and a head (Devlin et al. 2019, sec. 4.1).

By another method than full, a pretrained encoder stays as it is, and what is trained on it is little.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from maskline.adapters.directory import ALONE, weights_bytes
from maskline.adapters.directory import export as export_tuned
from maskline.adapters.layers import insert, parameters, reset
from maskline.core.errors import UserError
from maskline.core.storage import read_manifest, sweep, write_timing
from maskline.core.text import escape
from maskline.corpus.split import TaskSplit
from maskline.dataset.read import ID, Dataset, read_dataset
from maskline.examples.draws import key
from maskline.finetuning.objective import FinetuningObjective
from maskline.finetuning.settings import FinetuneParams, FinetuningSettings
from maskline.finetuning.task import AnyTask, Encoded, TaskFactory
from maskline.finetuning.texts import TextsObjective
from maskline.model.convert import from_hugging_face, to_hugging_face
from maskline.model.directory import (
    TokenizerFiles,
    data_table,
    export,
    load_pretraining_model,
    model_card,
    read_model,
    read_shape,
)
from maskline.model.heads import EncoderModel
from maskline.model.settings import ModelParams
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import check_tokenizer, files_for_model
from maskline.training import distributed
from maskline.training.devices import (
    check_memory,
    choose_loaders,
    crowding,
    describe,
    memory_explained,
    place,
    with_precision,
)
from maskline.training.loop import Cadence, Metrics, train
from maskline.training.progress import process_reporter
from maskline.training.reports import write_reports
from maskline.training.states import REPORTS, ResumableRun, identity_of

Start = Literal["pretrained", "scratch"]
WEIGHTS: dict[Start, str] = {"pretrained": "pretrained", "scratch": "random"}
LOG_EVERY = 10
"""Updates averaged in one row of the training curve."""


@dataclass(frozen=True)
class Paths:
    """What the stage reads and writes."""

    data: Path
    tokenizer: Path
    model: Path
    """The directory that is written."""
    reports: Path
    pretrained: Path | None = None
    """The model to start from; None: random weights."""

    @property
    def start(self) -> Start:
        """Return what the weights start from."""
        return "scratch" if self.pretrained is None else "pretrained"


@memory_explained()
def finetune(
    name: str, make_task: TaskFactory, settings: FinetuningSettings, paths: Paths, device: torch.device
) -> None:
    """Train the task `name`; write the model, its curves and metrics; go on with an interrupted run.

    From random weights it is the same network by the same recipe, for comparison.

    Raises:
        UserError: the data does not fit the parameters, training diverged, memory ran out, or it was interrupted.
    """
    recipe = with_precision(settings.recipe.from_start(pretrained=paths.pretrained is not None), device)
    dataset = read_dataset(paths.data, name)
    task = make_task(recipe, dataset.manifest)
    objective = prepare(task, dataset, settings, recipe, paths, device)
    steps, cadence = recipe.total_steps(objective.updates), cadence_of(recipe, objective)
    loaders = choose_loaders(settings.compute, device)
    stage = f"{'finetune' if paths.pretrained else 'scratch'} {name}"
    is_main = distributed.rank() == 0
    identity = _identity(stage, settings, recipe, paths)
    texts, seconds = None, 0.0
    if recipe.text_epochs and paths.pretrained:
        texts, seconds = learn_texts(name, objective, settings, recipe, paths)
    with (
        process_reporter(stage, steps, settings.compute) as reporter,
        ResumableRun(identity, reporter.say, exclusive=is_main) as run,
    ):
        reporter.say(
            f"{stage}: from {WEIGHTS[paths.start]} weights on {describe(device)} in {recipe.precision}, {steps} steps"
        )
        if crowded := crowding(device):
            reporter.say(f"{stage}: {crowded}")
        if is_main:
            for report in REPORTS:
                sweep(paths.reports / report)
        result = train(objective, recipe, steps, cadence, settings.seed, run, reporter, loaders)
        if is_main:
            best = result.progress.best_row()
            objective.model.load_state_dict(result.best_weights)
            _export(name, task, objective.model, settings, recipe, paths, dataset.manifest, best, identity)
            more = {
                **_examples(objective, dataset),
                **parameters(objective.model),
                "bytes": weights_bytes(paths.model),
                **({} if texts is None else {"texts": texts}),
            }
            write_reports(paths.reports, result.progress, objective, steps, more)
            write_timing(stage, seconds + result.progress.seconds)
            run.finish()


def prepare(
    task: AnyTask,
    dataset: Dataset,
    settings: FinetuningSettings,
    recipe: FinetuneParams,
    paths: Paths,
    device: torch.device,
) -> FinetuningObjective:
    """Return the network of `task` before its first update, with what it learns from and is scored on.

    Raises:
        UserError: the encoder does not fit the parameters.
    """
    tokenizer = load_tokenizer(paths.tokenizer)
    shape, vocab_size = read_shape(paths.tokenizer) or (settings.model, tokenizer.vocab_size)
    if recipe.max_seq_length > shape.max_positions:
        raise UserError(
            f"finetune.max_seq_length {recipe.max_seq_length} is longer than the {shape.max_positions} tokens that the "
            "encoder reads: shorten it"
        )
    training, validation = (
        task.encode(dataset.splits[split], tokenizer, recipe.max_seq_length) for split in ("train", "validation")
    )
    model = new_model(task, shape, recipe, vocab_size, settings.seed)
    if paths.pretrained:
        load_pretrained(model, paths.pretrained, paths.tokenizer, settings.encoder.stage)
        _leave_encoder(model, recipe, settings.seed)
    place(model, settings.compute, device)
    return FinetuningObjective(task, model, training, validation, recipe, settings.seed, device)


def _leave_encoder(model: EncoderModel, recipe: FinetuneParams, seed: int) -> None:
    """Freeze the encoder of `model` and add what the method of `recipe` trains, where it is not full.

    Raises:
        UserError: it does not fit the encoder.
    """
    if not recipe.few:
        return
    if error := recipe.size_error(model.encoder.params.hidden):
        raise UserError(f"finetune.{error}")
    insert(model, recipe)
    reset(model, torch.Generator().manual_seed(int(key(seed, "adapter weights")[0] >> 1)))


def learn_texts(
    name: str, objective: FinetuningObjective, settings: FinetuningSettings, recipe: FinetuneParams, paths: Paths
) -> tuple[list[Metrics], float]:
    """Go on with masked tokens on the texts of the task `name`, and give its encoder to the network of `objective`.

    An interrupted run goes on. Returned are the scores on the texts of the validation split, before it and after each
    epoch, and the seconds that it took.

    Raises:
        UserError: the pretrained model has no head for masked tokens, training diverged, or it was interrupted.
    """
    assert paths.pretrained is not None
    stage, recipe = f"texts {name}", recipe.on_texts()
    try:
        model = load_pretraining_model(paths.pretrained, settings.encoder.stage, dropout=recipe.dropout)
    except UserError as error:
        raise UserError(f"{error}, or set text_epochs to 0, in finetune of tasks/{name}.yaml") from None
    model.encoder.load_state_dict(objective.model.encoder.state_dict())  # also the pooler, which may be the seed's
    place(model, settings.compute, objective.device)
    texts = TextsObjective(
        model,
        objective.training.texts,
        objective.validation.texts,
        load_tokenizer(paths.tokenizer),
        recipe,
        settings.seed,
        objective.device,
    )
    steps, every = recipe.total_steps(texts.updates), texts.updates(1)
    with (
        process_reporter(stage, steps, settings.compute) as reporter,
        ResumableRun(_identity(stage, settings, recipe, paths), reporter.say, exclusive=distributed.rank() == 0) as run,
    ):
        reporter.say(f"{stage}: {len(texts.training):,} texts, {steps} steps, on masked tokens")
        before = {"step": 0, "epoch": 0.0, **texts.evaluate()}
        cadence = Cadence(every, every, LOG_EVERY)
        loaders = choose_loaders(settings.compute, objective.device)
        result = train(texts, recipe, steps, cadence, settings.seed, run, reporter, loaders)
        if distributed.rank() == 0:
            run.finish()
    model.load_state_dict(result.best_weights)
    from_hugging_face(objective.model, to_hugging_face(model))  # the encoder, and a head that both have
    return [before, *result.progress.validation], result.progress.seconds


def cadence_of(recipe: FinetuneParams, objective: FinetuningObjective) -> Cadence:
    """Return how often a run is scored, saved and logged."""
    every = recipe.evaluate_every(objective.updates)
    return Cadence(every, every, LOG_EVERY)


def _examples(objective: FinetuningObjective, dataset: Dataset) -> dict[str, Any]:
    """Return what the metrics say of the examples, by split."""
    encoded: dict[TaskSplit, Encoded] = {"train": objective.training, "validation": objective.validation}
    return {
        "examples": {split: len(dataset.splits[split][ID]) for split in encoded},
        "cut": {split: part.cut for split, part in encoded.items()},
        "unk_rate": {split: part.unk_rate for split, part in encoded.items()},
    }


def new_model(
    task: AnyTask, architecture: ModelParams, recipe: FinetuneParams, vocab_size: int, seed: int
) -> EncoderModel:
    """Return the network of `task` with the random weights of `seed`, and the dropout of `recipe`.

    Raises:
        UserError: this machine has no room for it.
    """
    architecture = architecture.model_copy(update={"dropout": recipe.dropout})
    check_memory(architecture, vocab_size)
    model = task.new_model(architecture, vocab_size, recipe.dropout)
    model.reset(torch.Generator().manual_seed(int(key(seed, "classifier weights")[0] >> 1)))
    return model


def load_pretrained(model: EncoderModel, directory: Path, tokenizer: Path, stage: str = "pretrain") -> None:
    """Take the encoder of a pretrained model; a pooler that pretraining did not train stays random, as the head does.

    Raises:
        UserError: the model has another architecture or tokenizer.
    """
    saved = read_model(directory, stage)
    check_tokenizer(directory, tokenizer, stage)
    expected = model.encoder.params
    for field in expected.shape:
        if getattr(saved.params, field) != getattr(expected, field):
            raise UserError(
                f"{directory} has {field} {getattr(saved.params, field)}, params.yaml says model.{field} "
                f"{getattr(expected, field)}: run `dvc repro {stage}`"
            )
    own = (name for name, _ in model.named_parameters() if not name.startswith("encoder."))
    head = [theirs for name in own for theirs in saved.names.theirs(name)]
    heads = [name for name in saved.weights if not name.startswith(saved.names.encoder)]
    saved.copy_into(model, may_lack=(*head, *saved.names.pooler), may_leave=heads)


def _identity(stage: str, settings: FinetuningSettings, recipe: FinetuneParams, paths: Paths) -> dict[str, Any]:
    params = {**settings.model_dump(include={"seed", "model"}), "finetune": recipe.model_dump()}
    inputs = {"data": paths.data, "tokenizer": paths.tokenizer}
    return identity_of(stage, params, inputs | ({"pretrained": paths.pretrained} if paths.pretrained else {}))


def _export(
    name: str,
    task: AnyTask,
    model: EncoderModel,
    settings: FinetuningSettings,
    recipe: FinetuneParams,
    paths: Paths,
    manifest: Mapping[str, Any],
    metrics: Metrics,
    identity: dict[str, Any],
) -> None:
    pretrained = read_manifest(paths.pretrained, settings.encoder.stage) if paths.pretrained else {}
    tables: dict[str, dict[str, Any]] = {
        "Validation": metrics,
        "Data": {
            **data_table(manifest),
            **{f"examples ({split})": part["examples"] for split, part in manifest["splits"].items()},
        },
        "Data of pretraining": pretrained.get("data", {}),
        "Origin of the encoder": pretrained.get("origin", {}),
        "Training": {"seed": settings.seed, **recipe.model_dump()},
        "SHA-256 of the inputs' manifests and of the source": identity["inputs"] | {"source": identity["source"]},
    }
    note = (
        f"{escape(task.summary)}; fine-tuned by maskline from {WEIGHTS[paths.start]} weights"
        f"{_alone(recipe, paths)}. Below is its score on "
        "the validation split. Scores on the test split, which were taken after this card was written, are in "
        f"`reports/tasks/{name}/metrics.json` of the project, beside those of simple rules and without pretraining."
    )
    card = model_card(
        f"maskline {model.architecture.title} for {name}",
        settings.language,
        tables,
        note,
        model.encoder.params.architecture,
    )
    shape = model.encoder.params
    files = TokenizerFiles(
        *files_for_model(paths.tokenizer, shape.max_positions, segments=shape.next_sentence, fills_masks=False)
    )
    if recipe.few:
        export_tuned(paths.model, model, recipe, str(paths.pretrained), files, card, identity, task.config())
        return
    untrained = () if model.pooled else model.architecture.names.pooler
    export(paths.model, model, model.exported_as, files, card, identity, task.config(), untrained=untrained)


def _alone(recipe: FinetuneParams, paths: Paths) -> str:
    """Return what a model card says where not all was trained."""
    if not recipe.few:
        return ""
    return f", of which only {recipe.method} were trained; {ALONE} `{escape(str(paths.pretrained))}` of the project"
