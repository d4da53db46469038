"""Using a trained classifier: ours, or any of single texts that `transformers` has for one of our architectures."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from maskline.core.errors import UserError
from maskline.finetuning.use import Predicted
from maskline.model.directory import SavedModel
from maskline.tasks.classification.model import ClassificationModel, probabilities
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import encode_texts

PURPOSES = ("ForSequenceClassification",)
"""One that pools by the mean is a `BertModel`, whose config.json says under `maskline` that its kind is this one."""
SINGLE = "single_label_classification"


class Classifier:
    """A trained classifier with the names of its classes."""

    def __init__(
        self,
        model: ClassificationModel,
        labels: Sequence[str],
        tokenizer: LoadedTokenizer,
        device: torch.device,
        *,
        pair: bool,
    ) -> None:
        self.model = model
        self.labels = labels
        self.tokenizer = tokenizer
        self.device = device
        self.fields: Sequence[str] = ("text", "second") if pair else ("text",)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> Predicted:
        """Return `label`, `probability` and the `probabilities` of all labels, for each input.

        Raises:
            UserError: an input lacks one of `fields`.
        """
        for field in self.fields:
            for number, row in enumerate(inputs, 1):
                if field not in row:
                    raise UserError(f"input {number} has no {field}: the model reads {' and '.join(self.fields)}")
        columns = [[row[field] for row in inputs] for field in self.fields]
        texts = encode_texts(columns[0], self.tokenizer, self.model.encoder.params.max_positions, *columns[1:])
        found = probabilities(self.model, texts, len(self.labels), self.device)
        return Predicted([self._row(row.tolist()) for row in found], cut=texts.cut)

    def _row(self, chances: list[float]) -> dict[str, Any]:
        best = max(range(len(chances)), key=chances.__getitem__)
        return {
            "label": self.labels[best],
            "probability": chances[best],
            "probabilities": dict(zip(self.labels, chances, strict=True)),
        }


def open_predictor(saved: SavedModel, tokenizer: LoadedTokenizer, device: torch.device) -> Classifier:
    """Return the classifier `saved` on `device`; without our key in its configuration it reads single texts.

    Raises:
        UserError: it has no classes that exclude one another, or weights are missing or left over.
    """
    weight = saved.weights.get("classifier.weight")
    if weight is None:
        raise UserError(f"{saved.directory} lacks classifier.weight: give the directory of a classifier")
    labels = _labels(saved, len(weight))
    ours = saved.config.get("maskline", {})
    model = ClassificationModel(saved.params, saved.vocab_size, len(labels), 0.0, ours.get("pooling", "cls"))
    saved.copy_into(model, may_lack=() if model.pooled else saved.names.pooler)
    return Classifier(model.to(device), labels, tokenizer, device, pair=ours.get("pair", False))


def _labels(saved: SavedModel, classes: int) -> list[str]:
    """Return the names of the classes; `transformers` leaves them out where there are two that nobody named."""
    problem = saved.config.get("problem_type")
    if classes < 2 or problem not in (None, SINGLE):
        raise UserError(
            f"{saved.directory} tells no classes apart of which each text has one (problem_type {problem}, "
            f"{classes} outputs): give a classifier of {SINGLE}"
        )
    names = saved.config.get("id2label") or {str(number): f"LABEL_{number}" for number in range(classes)}
    labels = [str(names[str(number)]) for number in range(classes) if str(number) in names]
    if len(set(labels)) != classes or len(names) != classes:
        raise UserError(f"{saved.directory}: id2label does not name the {classes} classes of the weights: correct it")
    return labels
