"""What a downstream task is to those who train and score it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskline.core.scores import FigureSpec
from maskline.dataset.read import Columns, Dataset
from maskline.model.heads import EncoderModel
from maskline.model.settings import ModelParams
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import EncodedTexts

Metrics = dict[str, float]


class Encoded(Protocol):
    """The examples of a split as the model reads them, with their answers."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(N,) tokens of each sequence: an example is one or, where it is read in windows, several."""

    @property
    def texts(self) -> EncodedTexts:
        """What the model reads, without the answers."""

    @property
    def cut(self) -> int:
        """How many examples were longer than the model reads."""

    @property
    def unk_rate(self) -> float:
        """Share of [UNK] in the tokens that the model reads."""


@dataclass(frozen=True)
class Baseline:
    """A simple rule that learns from the same examples, and what it scores on the test split."""

    key: str
    """The prefix of its numbers in metrics.json."""
    name: str
    scores: Metrics


@dataclass(frozen=True)
class Table:
    """Rows for a CSV file."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    """How a test example came out."""

    gold: str
    predicted: str
    probability: float | None
    """Of what is predicted, as the model has it; None where it gives none."""
    error: float
    """0 where it is right; else the larger, the worse."""
    text: str
    """The example, for a page. The table of predictions has no text: it may be other people's."""


@dataclass(frozen=True)
class Pretrained:
    """The encoder that fine-tuning started from, which some baselines use as it is."""

    directory: Path
    stage: str
    """What wrote the directory."""
    tokenizer: LoadedTokenizer
    device: torch.device


@dataclass(frozen=True)
class Details:
    """What there is to see of the predictions on the test split, beside the scores."""

    tables: Mapping[str, Table]
    """Name of the CSV file -> its content."""
    figures: Sequence[FigureSpec]
    intervals: Mapping[str, tuple[float, float]]
    """Score -> the bounds of its 95 % confidence interval."""
    warnings: Sequence[str]
    """What a reader of the scores has to know."""
    cases: Sequence[Case]
    """One for each example, in their order."""


E = TypeVar("E", bound=Encoded)
B = TypeVar("B")
P = TypeVar("P")


class Task(Protocol[E, B, P]):
    """A task of one kind: E is a split encoded, B a batch of it in NumPy, P the predictions on a split.

    The function `make_task` of a kind's module `task` makes one, of its part of the settings and of what the manifest
    of its examples says.
    """

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return key -> name of the scores, the first to look at first; the higher, the better."""

    @property
    def criterion(self) -> str:
        """Return the key of the score that decides which epoch is kept."""

    @property
    def summary(self) -> str:
        """Return what the model does, in a sentence of its card."""

    def config(self) -> dict[str, Any]:
        """Return what config.json says of the head, such as the labels."""

    def new_model(self, params: ModelParams, vocab_size: int, dropout: float) -> EncoderModel:
        """Return the encoder with the head of this kind; `dropout` is that before the head."""

    def encode(self, examples: Columns, tokenizer: LoadedTokenizer, max_seq_length: int) -> E:
        """Return a split as the model reads it, no example longer than `max_seq_length` tokens."""

    def batch(self, encoded: E, rows: NDArray[np.int64]) -> B:
        """Return the sequences `rows` as a batch; other processes call it."""

    def targets(self, batch: B) -> dict[str, float]:
        """Return under `loss` what the summed loss is divided by, and under `tokens` the real tokens."""

    def loss(self, model: EncoderModel, batch: B, device: torch.device) -> Tensor:
        """Return the loss in nats, summed over the targets of a batch."""

    def predict(self, model: EncoderModel, encoded: E, device: torch.device) -> P:
        """Return the predictions on a split, without dropout."""

    def predict_by(self, score: Any, encoded: E) -> P:
        """Return the same by what scores a batch: a `Scorer` of this kind, on torch or not."""

    def scores(self, encoded: E, predictions: P) -> Metrics:
        """Return `loss`, the mean over the targets in nats, and the scores of `metrics`."""

    def baselines(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:
        """Return what the scores on the test split are read against, beside the same network from random weights."""

    def probe(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:
        """Return what a linear rule on the frozen encoder scores, its cheapest use; nothing where there is none."""

    def details(self, examples: Columns, encoded: E, predictions: P) -> Details:
        """Return what there is to see of the predictions on the test split, of which `encoded` has the `examples`."""


AnyTask = Task[Any, Any, Any]


class TaskFactory(Protocol):
    """`make_task` of a kind."""

    def __call__(self, recipe: Any, manifest: Mapping[str, Any]) -> AnyTask:
        """Return a task by `recipe`, its section `finetune`, and the manifest of its examples."""


def label_config(labels: Sequence[str]) -> dict[str, Any]:
    """Return what the config of a model says of its classes, as `transformers` names it."""
    return {
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "label2id": {label: number for number, label in enumerate(labels)},
    }
