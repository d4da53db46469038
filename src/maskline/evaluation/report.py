"""The numbers of reports/evaluate: each score of a model beside what makes it readable."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from maskline.errors import UserError
from maskline.evaluation.baselines import (
    majority_accuracy,
    pair_baselines,
    tfidf_metrics,
    training_pairs,
    unigram,
    validation_pairs,
)
from maskline.evaluation.classification import classification_metrics, predict
from maskline.evaluation.intrinsic import perplexity, pretraining_metrics, pretraining_sums
from maskline.examples.premasked import PremaskedSet
from maskline.examples.shards import TokenShards
from maskline.model.heads import ClassificationModel, PretrainingModel
from maskline.tasks.classification import encode_texts
from maskline.tasks.examples import Examples
from maskline.tokenization.load import LoadedTokenizer, SpecialIds

CONFUSION_COLUMNS = ("label", "predicted", "count")
CLASS_COLUMNS = ("label", "precision", "recall", "f1", "support")


def pretraining_report(
    model: PretrainingModel,
    validation: PremaskedSet,
    shards: TokenShards,
    special: SpecialIds,
    device: torch.device,
    *,
    nsp: bool,
) -> dict[str, dict[str, Any]]:
    """Return the sections `mlm` and `nsp`; the accuracy of a model without NSP, and of what has no pairs, is None.

    A loss that is no finite number is None too, and `diverged` then stands beside it.

    Raises:
        UserError: the shards were made with another vocabulary than the model.
    """
    if shards.vocab_size != model.encoder.vocab_size:
        raise UserError(
            f"{shards.directory} was made with {shards.vocab_size} tokens, the model with {model.encoder.vocab_size}: "
            "run `dvc repro`"
        )
    sums = pretraining_sums(model, validation, special, device)
    scores = pretraining_metrics(sums, nsp=nsp)
    loss = sums["mlm_loss"] / sums["masked"]
    unigram_loss, unigram_accuracy = unigram(shards.token_counts(), np.concatenate(validation.masked_labels), special)
    mlm = {
        "loss": loss,
        "perplexity": perplexity(loss),
        "accuracy": scores["mlm_accuracy"],
        "unigram_loss": unigram_loss,
        "unigram_accuracy": unigram_accuracy,
    }
    training = training_pairs(shards, validation.manifest["params"]["max_seq_length"])
    return {
        "mlm": _finite(mlm),
        "nsp": {"accuracy": scores["nsp_accuracy"], **pair_baselines(training, validation_pairs(validation))},
    }


def _finite(values: Mapping[str, float | None]) -> dict[str, Any]:
    finite = {name: value if value is not None and math.isfinite(value) else None for name, value in values.items()}
    return finite | {"diverged": True} if None in finite.values() else finite


@dataclass(frozen=True)
class TaskReport:
    """How a task came out on its test split."""

    metrics: dict[str, float]
    confusion: list[dict[str, Any]]
    """A row of `CONFUSION_COLUMNS` for every pair of labels."""
    classes: list[dict[str, Any]]
    """A row of `CLASS_COLUMNS` for every label."""
    warnings: list[str]
    """What a reader of the metrics has to know."""


def task_report(
    task: str,
    models: Mapping[str, ClassificationModel],
    splits: Mapping[str, Examples],
    tokenizer: LoadedTokenizer,
    max_seq_length: int,
    device: torch.device,
) -> TaskReport:
    """Score two models on the test split, and what they are read against.

    Args:
        task: Its name.
        models: `pretrained`, and `scratch`, the same network fine-tuned from random weights.
        splits: `train`, `validation` and `test`.
        tokenizer: The one that both models were made with.
        max_seq_length: Tokens that the models read, [CLS] and [SEP] included.
        device: Where the models are.
    """
    test = splits["test"]
    names, classes = test.label_names, len(test.label_names)
    encoded = encode_texts(test.texts, tokenizer, max_seq_length)
    predicted, scratch = (
        predict(models[name], encoded, tokenizer.special, device).argmax(1) for name in ("pretrained", "scratch")
    )
    metrics = classification_metrics(test.labels, predicted, classes)
    metrics["majority_accuracy"] = majority_accuracy(splits["train"], test)
    for prefix, scores in (
        ("tfidf", tfidf_metrics(splits["train"], splits["validation"], test)),
        ("scratch", classification_metrics(test.labels, scratch, classes)),
    ):
        metrics |= {f"{prefix}_{name}": value for name, value in scores.items()}

    matrix = confusion_matrix(test.labels, predicted, labels=range(classes))
    confusion = [
        dict(zip(CONFUSION_COLUMNS, (label, other, int(count)), strict=True))
        for label, row in zip(names, matrix, strict=True)
        for other, count in zip(names, row, strict=True)
    ]
    scores = precision_recall_fscore_support(test.labels, predicted, labels=range(classes), zero_division=0.0)
    columns = (names, *(column.tolist() for column in scores))
    by_class = [dict(zip(CLASS_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]
    warnings = []
    if encoded.cut:
        warnings.append(
            f"{encoded.cut:,} of {len(encoded):,} test texts are longer than {max_seq_length} tokens and were cut"
        )
    if len(set(predicted.tolist())) == 1:
        warnings.append(
            f"every test text is predicted as {names[predicted[0]]}: the accuracy is that of naming one class"
        )
    return TaskReport(metrics, confusion, by_class, [f"{task}: {warning}" for warning in warnings])
