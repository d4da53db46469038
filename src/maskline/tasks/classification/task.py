"""Text classification, of single texts or pairs, trained and scored: cross-entropy over classes; macro-F1 decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support
from torch import Tensor
from torch.nn import functional as F

from maskline.core.scores import FigureSpec, wilson
from maskline.dataset.read import Columns, Dataset
from maskline.finetuning.bootstrap import bounds
from maskline.finetuning.scorer import TorchScorer
from maskline.finetuning.task import Baseline, Case, Details, Metrics, Pretrained, Table, label_config
from maskline.model.heads import EncoderModel
from maskline.model.settings import ModelParams
from maskline.tasks.classification.baselines import majority_accuracy, probe_predictions, tfidf_predictions
from maskline.tasks.classification.model import ClassificationModel, class_probabilities, logits
from maskline.tasks.classification.scores import Scorer, probabilities
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import EncodedTexts, Packed, encode_texts

if TYPE_CHECKING:
    from maskline.tasks.classification.settings import ClassificationRecipe, Pooling

SECOND = "second"
"""The column of the second texts, where the examples are pairs."""
RESAMPLES = 2000
"""Test sets that the bootstrap draws (Efron & Tibshirani 1993, ch. 13), always the same ones."""
CLASSES = ("label", "precision", "recall", "f1", "support")


@dataclass(frozen=True)
class LabelledTexts:
    """Encoded texts with their classes."""

    texts: EncodedTexts
    labels: NDArray[np.int64]
    """(N,)"""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(N,) tokens of each text."""
        return self.texts.sizes

    @property
    def cut(self) -> int:
        """How many texts were cut."""
        return self.texts.cut

    @property
    def unk_rate(self) -> float:
        """Share of [UNK]."""
        return self.texts.unk_rate


@dataclass(frozen=True)
class LabelledBatch:
    """B texts with their classes."""

    texts: Packed
    labels: NDArray[np.int64]
    """(B,)"""


class Classification:
    """One text or a pair of texts, one of C classes."""

    metrics: Mapping[str, str] = {"accuracy": "accuracy", "macro_f1": "macro-F1"}  # of a protocol
    criterion = "macro_f1"

    def __init__(
        self,
        labels: list[str],
        weights: NDArray[np.float32],
        *,
        pair: bool = False,
        pooling: "Pooling" = "cls",
        max_seq_length: int | None = None,
    ) -> None:
        """Weigh the loss of class c by `weights[c]`, (C,); `max_seq_length` is what the probe reads of a text."""
        self.max_seq_length = max_seq_length
        self.labels = labels
        self.pair = pair
        self.pooling = pooling
        self.weights = torch.from_numpy(weights)
        self.balanced = len(set(weights.tolist())) > 1

    @property
    def summary(self) -> str:
        """Return what the model does."""
        return f"Classifies {'pairs of texts' if self.pair else 'texts'} as {', '.join(self.labels)}"

    def config(self) -> dict[str, Any]:
        """Return the labels, and under a key of our own what using the model needs."""
        return {
            **label_config(self.labels),
            "problem_type": "single_label_classification",
            "maskline": {"kind": "classification", "pair": self.pair, "pooling": self.pooling},
        }

    def new_model(self, params: ModelParams, vocab_size: int, dropout: float) -> ClassificationModel:
        """Return the network."""
        return ClassificationModel(params, vocab_size, len(self.labels), dropout, self.pooling)

    def encode(self, examples: Columns, tokenizer: LoadedTokenizer, max_seq_length: int) -> LabelledTexts:
        """Return texts cut at their end, and of a pair the longer one first."""
        assert self.pair == (SECOND in examples), "the manifest and the examples are of one stage"
        texts = encode_texts(examples["text"], tokenizer, max_seq_length, examples.get(SECOND))
        return LabelledTexts(texts, np.array(examples["label"], np.int64))

    def batch(self, encoded: LabelledTexts, rows: NDArray[np.int64]) -> LabelledBatch:
        """Return some texts."""
        return LabelledBatch(encoded.texts.packed(rows), encoded.labels[rows])

    def targets(self, batch: LabelledBatch) -> dict[str, float]:
        """Return the summed class weights and the tokens."""
        return {"loss": self.weights[batch.labels].sum().item(), "tokens": len(batch.texts.input_ids)}

    def loss(self, model: EncoderModel, batch: LabelledBatch, device: torch.device) -> Tensor:
        """Return the summed weighted cross-entropy."""
        target = torch.from_numpy(batch.labels).to(device)
        scores = logits(model, batch.texts, device).float()
        return F.cross_entropy(scores, target, self.weights.to(device), reduction="sum")

    def predict(self, model: EncoderModel, encoded: LabelledTexts, device: torch.device) -> NDArray[np.float32]:
        """Return the probability of each class for each text, (N, C)."""
        return self.predict_by(TorchScorer(model, device, class_probabilities), encoded)

    def predict_by(self, score: Scorer, encoded: LabelledTexts) -> NDArray[np.float32]:
        """Return the same, whatever computes a batch."""
        return probabilities(score, encoded.texts, len(self.labels))

    def scores(self, encoded: LabelledTexts, predictions: NDArray[np.float32]) -> Metrics:
        """Return the loss, the accuracy and the macro-F1."""
        of_truth = predictions[np.arange(len(encoded.labels)), encoded.labels]
        loss = -np.log(np.maximum(of_truth, np.finfo(np.float32).tiny)).mean()
        return {"loss": float(loss), **self._scores(encoded.labels, predictions.argmax(1))}

    def baselines(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:  # noqa: ARG002  # of a protocol
        """Return the majority class, and logistic regression on TF-IDF of words or of characters."""
        splits = dataset.splits
        test = np.array(splits["test"]["label"], np.int64)
        majority = majority_accuracy(np.array(splits["train"]["label"], np.int64), test)
        tfidf = tfidf_predictions(
            splits["train"], splits["validation"], splits["test"], balanced=self.balanced, score=self._criterion
        )
        return [
            Baseline("tfidf", f"TF-IDF of {tfidf.units}, regression", self._scores(test, tfidf.predicted)),
            Baseline("majority", "majority class", {"accuracy": majority}),
        ]

    def probe(self, dataset: Dataset, pretrained: Pretrained) -> list[Baseline]:
        """Return logistic regression on vectors of the frozen encoder: the mean of all tokens, or [CLS]."""
        found = probe_predictions(
            dataset.splits,
            pretrained,
            self.max_seq_length,
            len(self.labels),
            balanced=self.balanced,
            score=self._criterion,
        )
        scores = self._scores(np.array(dataset.splits["test"]["label"], np.int64), found.predicted)
        return [Baseline("probe", f"frozen encoder, regression on {found.vectors}", scores)]

    def details(self, examples: Columns, encoded: LabelledTexts, predictions: NDArray[np.float32]) -> Details:
        """Return the confusion matrix and the scores of each class."""
        predicted, classes = predictions.argmax(1), range(len(self.labels))
        matrix = confusion_matrix(encoded.labels, predicted, labels=classes)
        confusion = [
            {"label": label, "predicted": other, "count": int(count)}
            for label, row in zip(self.labels, matrix, strict=True)
            for other, count in zip(self.labels, row, strict=True)
        ]
        scores = precision_recall_fscore_support(encoded.labels, predicted, labels=classes, zero_division=0.0)
        columns = (self.labels, *(column.tolist() for column in scores))
        by_class = [dict(zip(CLASSES, row, strict=True)) for row in zip(*columns, strict=True)]
        warnings = []
        if len(set(predicted.tolist())) == 1:
            warnings.append(
                f"every test text is predicted as {self.labels[predicted[0]]}: the accuracy is that of naming one class"
            )
        shares = (matrix / matrix.sum()).ravel()
        drawn = np.random.default_rng(0).multinomial(int(matrix.sum()), shares, size=RESAMPLES)
        macro_f1 = _macro_f1(drawn.reshape(RESAMPLES, *matrix.shape))
        right = float(np.trace(matrix) / matrix.sum())
        return Details(
            {
                "confusion.csv": Table(("label", "predicted", "count"), confusion),
                "classes.csv": Table(CLASSES, by_class),
            },
            [FigureSpec("confusion", "matrix", "confusion.csv", "confusion", x="predicted", y="label", value="count")],
            {
                "accuracy": wilson(right, int(matrix.sum())),
                "macro_f1": bounds(macro_f1),
            },
            warnings,
            self._cases(examples, encoded.labels, predictions),
        )

    def _criterion(self, labels: NDArray[Any], predicted: NDArray[Any]) -> float:
        return self._scores(labels, predicted)[self.criterion]

    def _cases(self, examples: Columns, labels: NDArray[np.int64], probabilities: NDArray[np.float32]) -> list[Case]:
        """Return how each text came out; of the wrong, the surest are the worst."""
        return [
            Case(
                gold=self.labels[label],
                predicted=self.labels[best],
                probability=float(row[best]),
                error=0.0 if best == label else float(row[best]),
                text=text,
            )
            for text, label, best, row in zip(
                _spelled(examples), labels, probabilities.argmax(1), probabilities, strict=True
            )
        ]

    def _scores(self, labels: NDArray[Any], predicted: NDArray[Any]) -> Metrics:
        """Return accuracy and macro-F1; a class that is neither there nor predicted counts with an F1 of 0."""
        macro_f1 = f1_score(labels, predicted, labels=range(len(self.labels)), average="macro", zero_division=0.0)
        return {"accuracy": float(accuracy_score(labels, predicted)), "macro_f1": float(macro_f1)}


def make_task(recipe: "ClassificationRecipe", manifest: Mapping[str, Any]) -> Classification:
    """Return the task whose labels and training examples `manifest` describes."""
    counts = np.array(list(manifest["splits"]["train"]["labels"].values()))
    balanced = recipe.class_weights == "balanced"
    # Inversely proportional to the frequency of the class, and 1 in the mean over the examples.
    weights = counts.sum() / (len(counts) * counts) if balanced else np.ones(len(counts))
    pair = manifest.get("pair", False)
    return Classification(
        manifest["labels"],
        weights.astype(np.float32),
        pair=pair,
        pooling=recipe.pooling,
        max_seq_length=recipe.max_seq_length,
    )


def _spelled(examples: Columns) -> list[str]:
    """Return each example as one text: of a pair, one after the other."""
    if SECOND not in examples:
        return examples["text"]
    return [f"{first} | {second}" for first, second in zip(examples["text"], examples[SECOND], strict=True)]


def _macro_f1(matrices: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the macro-F1 of R confusion matrices, (R, C, C) by label and prediction -> (R,)."""
    right = np.diagonal(matrices, axis1=1, axis2=2)
    all_of = matrices.sum(1) + matrices.sum(2)
    f1: NDArray[np.float64] = np.divide(2 * right, all_of, out=np.zeros(right.shape), where=all_of > 0)
    means: NDArray[np.float64] = f1.mean(1)
    return means
