"""Fine-tuning: all weights and a classifier over [CLS] (Devlin et al. 2019, sec. 4.1); the same from random weights."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from maskline.errors import UserError
from maskline.evaluation.classification import classification_metrics, classify, predict
from maskline.examples.batches import shares
from maskline.examples.draws import key
from maskline.examples.order import Order
from maskline.model.convert import from_hugging_face
from maskline.model.heads import ClassificationModel
from maskline.params import FinetuneParams, Params
from maskline.storage import MANIFEST, sha256, source_fingerprint, write_csv, write_json
from maskline.tasks.classification import EncodedTexts, TextBatch, encode_texts, text_batch
from maskline.tasks.examples import Examples, read_task
from maskline.tokenization.load import LoadedTokenizer, SpecialIds, load_tokenizer
from maskline.training import distributed
from maskline.training.devices import choose_loaders, describe, memory_explained, place, with_precision
from maskline.training.export import check_tokenizer, export, model_card, read_model
from maskline.training.loop import Cadence, Metrics, train
from maskline.training.progress import process_reporter
from maskline.training.states import ResumableRun

TRAIN_COLUMNS = ("step", "epoch", "tokens", "lr", "loss", "grad_norm")
VALIDATION_COLUMNS = ("step", "epoch", "loss", "accuracy", "macro_f1")
LOG_EVERY = 10
"""Updates averaged in one row of the training curve."""


@dataclass(frozen=True)
class Labelled:
    """Encoded texts with their classes, (N,)."""

    texts: EncodedTexts
    labels: NDArray[np.int64]


class ClassificationObjective:
    """Cross-entropy over classes; the epoch with the highest macro-F1 on the validation split is best."""

    loss_names: tuple[str, ...] = ("loss",)
    train_columns: tuple[str, ...] = TRAIN_COLUMNS
    validation_columns: tuple[str, ...] = VALIDATION_COLUMNS

    def __init__(
        self,
        model: ClassificationModel,
        training: Labelled,
        validation: Labelled,
        weights: NDArray[np.float32],
        special: SpecialIds,
        params: FinetuneParams,
        seed: int,
        device: torch.device,
    ) -> None:
        """Weigh the loss of class c by `weights[c]`, (C,)."""
        self.model = model
        self.training = training
        self.validation = validation
        self.weights = torch.from_numpy(weights).to(device)
        self.special = special
        self.micro_batch = params.micro_batch
        self.device = device
        self.order = Order(training.texts.sizes, params.global_batch, seed)
        self.steps_per_epoch = self.order.batches_per_epoch

    def updates(self, epochs: int) -> int:
        """Return how many updates see every example `epochs` times."""
        return epochs * self.steps_per_epoch

    def epochs(self, step: int) -> float:
        """Return how often every example has been seen after `step` updates."""
        return step / self.steps_per_epoch

    def update_ranges(self, first: int, steps: int) -> list[range]:
        """Return the updates `first` to `steps` - 1: all are made from the same tables."""
        return [range(first, steps)]

    def examples(self, step: int) -> list[int]:
        """Return the numbers of the examples of update `step`."""
        rows: list[int] = self._rows(step).tolist()
        return rows

    def _rows(self, step: int) -> NDArray[np.int64]:
        rows = self.order.at(*self.order.positions(step))
        return rows[np.argsort(self.training.texts.sizes[rows], kind="stable")]

    def microbatches(self, step: int) -> list[tuple[TextBatch, NDArray[np.int64]]]:
        """Return this process's share of update `step`: texts and their classes."""
        rows = self._rows(step)
        parts = [rows[part] for part in shares(len(rows), self.micro_batch, distributed.rank(), distributed.ranks())]
        return [(text_batch(self.training.texts, part, self.special), self.training.labels[part]) for part in parts]

    def scheduled(self, step: int) -> dict[str, Any]:  # noqa: ARG002
        """Return nothing: the learning rate alone has a schedule."""
        return {}

    def targets(self, microbatch: tuple[TextBatch, NDArray[np.int64]]) -> dict[str, float]:
        """Return the summed class weights and the real tokens of a microbatch."""
        batch, labels = microbatch
        return {"loss": self.weights[labels].sum().item(), "tokens": int(batch.attention_mask.sum())}

    def losses(self, microbatch: tuple[TextBatch, NDArray[np.int64]]) -> dict[str, Tensor]:
        """Return the summed weighted cross-entropy."""
        batch, labels = microbatch
        logits = classify(self.model, batch, self.device).float()
        target = torch.from_numpy(labels).to(self.device)
        return {"loss": F.cross_entropy(logits, target, self.weights, reduction="sum")}

    def evaluate(self) -> Metrics:
        """Score the validation split; every process does all of it."""
        labels = self.validation.labels
        probabilities = predict(self.model, self.validation.texts, self.special, self.device)
        of_truth = probabilities[np.arange(len(labels)), labels]
        loss = -np.log(np.maximum(of_truth, np.finfo(np.float32).tiny)).mean()
        return {"loss": float(loss), **classification_metrics(labels, probabilities.argmax(1), len(self.weights))}

    def criterion(self, metrics: Metrics) -> float | None:
        """Return the macro-F1, negated: unlike the loss it falls only when decisions get worse.

        Logits that are no numbers give decisions as well, so the loss must be one.
        """
        return None if metrics["loss"] is None or metrics["macro_f1"] is None else -metrics["macro_f1"]


@dataclass(frozen=True)
class Paths:
    """What the stage reads and writes."""

    data: Path
    pretrained: Path
    tokenizer: Path
    finetuned: Path
    scratch: Path
    reports: Path


@memory_explained()
def finetune(task: str, params: Params, paths: Paths, device: torch.device) -> None:
    """Fine-tune the pretrained model on `task`, and the same network from random weights, by the same recipe.

    Writes both models, their curves and metrics; goes on with an interrupted run.

    Raises:
        UserError: the data does not fit the parameters, training diverged, memory ran out, or it was interrupted.
    """
    recipe = with_precision(params.finetune[task], device)
    tokenizer = load_tokenizer(paths.tokenizer)
    sets = {split: read_task(paths.data, split) for split in ("train", "validation")}
    training, validation = (_encode(sets[split], tokenizer, recipe.max_seq_length) for split in sets)
    label_names = sets["train"].label_names
    weights = class_weights(training.labels, len(label_names), recipe.class_weights)
    metrics: dict[str, Any] = {
        "examples": {"train": len(training.labels), "validation": len(validation.labels)},
        "cut": {"train": training.texts.cut, "validation": validation.texts.cut},
        "unk_rate": {"train": training.texts.unk_rate, "validation": validation.texts.unk_rate},
    }
    timing = {}
    is_main = distributed.rank() == 0
    with ExitStack() as stack:
        runs = []  # both are kept until both are done: what interrupts the second loses nothing of the first
        for start, out, prefix in (("pretrained", paths.finetuned, ""), ("scratch", paths.scratch, "scratch-")):
            model = new_classifier(params, recipe, tokenizer.vocab_size, len(label_names))
            if start == "pretrained":
                _load(model, paths.pretrained, paths.tokenizer)
            place(model, params.compute, device)
            objective = ClassificationObjective(
                model, training, validation, weights, tokenizer.special, recipe, params.seed, device
            )
            steps = recipe.total_steps(objective.updates)
            identity = _identity(task, start, params, recipe, paths)
            with process_reporter(f"finetune {task} ({start})", steps, params.compute) as reporter:
                run = stack.enter_context(ResumableRun(identity, reporter.say, exclusive=is_main))
                runs.append(run)
                reporter.say(
                    f"finetune {task} from {start} weights on {describe(device)} in {recipe.precision}: {steps} steps"
                )
                cadence = Cadence(objective.steps_per_epoch, objective.steps_per_epoch, LOG_EVERY)
                loaders = choose_loaders(params.compute, device)
                result = train(objective, recipe, steps, cadence, params.seed, run, reporter, loaders)
            if is_main:
                progress = result.progress
                train_csv, validation_csv = (paths.reports / f"{prefix}{name}.csv" for name in ("train", "validation"))
                write_csv(train_csv, progress.train, objective.train_columns)
                write_csv(validation_csv, progress.validation, objective.validation_columns)
                metrics[start] = {"best": progress.best_row(), "last": progress.validation[-1], "steps": progress.step}
                timing[f"{start}_seconds"] = round(progress.seconds, 1)
                model.load_state_dict(result.best_weights)
                tables = {
                    "Validation": progress.best_row(),
                    "Training": {"seed": params.seed, **recipe.model_dump()},
                    "SHA-256 of the inputs' manifests and of the source": identity["inputs"]
                    | {"source": identity["source"]},
                }
                note = f"Classifies texts as {', '.join(label_names)}; fine-tuned by maskline from {start} weights."
                card = model_card(f"maskline BERT for {task}", params.corpus.language, tables, note)
                export(out, model, "BertForSequenceClassification", paths.tokenizer, card, identity, label_names)
        if is_main:
            write_json(paths.reports / "metrics.json", metrics)
            write_json(paths.reports / "timing.json", timing)
            for run in runs:
                run.discard()


def new_classifier(params: Params, recipe: FinetuneParams, vocab_size: int, classes: int) -> ClassificationModel:
    """Return a classifier with the random weights of `params.seed`, and the dropout of `recipe`."""
    architecture = params.model.model_copy(update={"dropout": recipe.dropout})
    model = ClassificationModel(architecture, vocab_size, classes, recipe.dropout)
    model.reset(torch.Generator().manual_seed(int(key(params.seed, "classifier weights")[0] >> 1)))
    return model


def class_weights(labels: NDArray[np.int64], classes: int, kind: Literal["none", "balanced"]) -> NDArray[np.float32]:
    """Return the weight of each class, (C,): 1, or inversely proportional to its frequency and 1 in the mean."""
    if kind == "none":
        return np.ones(classes, np.float32)
    return (len(labels) / (classes * np.bincount(labels, minlength=classes))).astype(np.float32)


def _encode(examples: Examples, tokenizer: LoadedTokenizer, max_seq_length: int) -> Labelled:
    return Labelled(encode_texts(examples.texts, tokenizer, max_seq_length), examples.labels)


def _load(model: ClassificationModel, directory: Path, tokenizer: Path) -> None:
    """Take the encoder of a pretrained model; a pooler that pretraining did not train stays random."""
    architecture, _, weights = read_model(directory, "pretrain")
    check_tokenizer(directory, tokenizer, "pretrain")
    expected = model.encoder.params
    fields = ("layers", "hidden", "heads", "intermediate", "activation", "max_positions", "layer_norm_eps")
    for field in fields:
        if getattr(architecture, field) != getattr(expected, field):
            raise UserError(
                f"{directory} has {field} {getattr(architecture, field)}, params.yaml says model.{field} "
                f"{getattr(expected, field)}: run `dvc repro pretrain`"
            )
    missing = from_hugging_face(model, weights)
    assert all(name.startswith(("classifier.", "encoder.pooler.")) for name in missing), missing


def _identity(task: str, start: str, params: Params, recipe: FinetuneParams, paths: Paths) -> dict[str, Any]:
    """Return everything that shapes the result."""
    inputs = {"data": paths.data, "tokenizer": paths.tokenizer}
    if start == "pretrained":
        inputs["pretrained"] = paths.pretrained
    return {
        "stage": f"finetune {task} {start}",
        "params": {**params.model_dump(include={"seed", "model"}), "finetune": recipe.model_dump()},
        "inputs": {name: sha256(path / MANIFEST) for name, path in inputs.items()},
        "source": source_fingerprint(),
    }
