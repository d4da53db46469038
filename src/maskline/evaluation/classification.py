"""How well a classifier does."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score
from torch import Tensor

from maskline.evaluation.inputs import layout_of, move
from maskline.model.heads import ClassificationModel
from maskline.tasks.classification import EncodedTexts, TextBatch, text_batches
from maskline.tokenization.load import SpecialIds

BATCH = 128


def classify(model: ClassificationModel, batch: TextBatch, device: torch.device) -> Tensor:
    """Return the logits of a batch, (B, C)."""
    input_ids = move(batch.input_ids[batch.attention_mask], device)
    logits: Tensor = model(input_ids, torch.zeros_like(input_ids), layout_of(batch.attention_mask.sum(1), device))
    return logits


@torch.no_grad()
def predict(
    model: ClassificationModel, encoded: EncodedTexts, special: SpecialIds, device: torch.device
) -> NDArray[np.float32]:
    """Return the probability of each class for each text, (N, C), in the order of the texts; without dropout."""
    was_training = model.training
    model.eval()
    probabilities = np.zeros((len(encoded), model.classifier.out_features), np.float32)
    for rows, batch in text_batches(encoded, BATCH, special):
        probabilities[rows] = classify(model, batch, device).float().softmax(1).cpu().numpy()
    model.train(was_training)
    return probabilities


def classification_metrics(labels: NDArray[Any], predicted: NDArray[Any], classes: int) -> dict[str, float]:
    """Return accuracy and macro-F1; a class that is neither there nor predicted counts with an F1 of 0."""
    macro_f1 = f1_score(labels, predicted, labels=range(classes), average="macro", zero_division=0.0)
    return {"accuracy": float(accuracy_score(labels, predicted)), "macro_f1": float(macro_f1)}
