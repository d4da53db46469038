"""Using a trained classifier: ours, or any of single texts that `transformers` has for one of our architectures."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maskline.core.errors import UserError
from maskline.finetuning.use import Described, Graph, Predicted, softmax
from maskline.tasks.classification.scores import Scorer, probabilities
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import Packed, encode_texts

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from maskline.model.attention import Layout
    from maskline.model.directory import SavedModel
    from maskline.tasks.classification.model import ClassificationModel

PURPOSES = ("ForSequenceClassification",)
"""One that pools by the mean is a `BertModel`, whose config.json says under `maskline` that its kind is this one."""
SINGLE = "single_label_classification"
NOTHING = Packed(*(np.array(numbers) for numbers in ([0], [1], [0])))
"""A sequence of one token, by which a graph shows how many classes it has."""


class Classifier:
    """A trained classifier with the names of its classes."""

    def __init__(
        self,
        score: Scorer,
        labels: Sequence[str],
        tokenizer: LoadedTokenizer,
        longest: int,
        *,
        pair: bool,
    ) -> None:
        """Read texts of at most `longest` tokens."""
        self.score = score
        self.labels = labels
        self.tokenizer = tokenizer
        self.longest = longest
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
        texts = encode_texts(columns[0], self.tokenizer, self.longest, *columns[1:])
        found = probabilities(self.score, texts, len(self.labels))
        return Predicted([self._row(row.tolist()) for row in found], cut=texts.cut)

    def _row(self, chances: list[float]) -> dict[str, Any]:
        best = max(range(len(chances)), key=chances.__getitem__)
        return {
            "label": self.labels[best],
            "probability": chances[best],
            "probabilities": dict(zip(self.labels, chances, strict=True)),
        }


def load(saved: "SavedModel") -> "ClassificationModel":
    """Return the classifier `saved`.

    Raises:
        UserError: it has no classes that exclude one another, or weights are missing or left over.
    """
    from maskline.tasks.classification.model import ClassificationModel

    weight = saved.weights.get("classifier.weight")
    if weight is None:
        raise UserError(f"{saved.directory} lacks classifier.weight: give the directory of a classifier")
    labels = _labels(saved, len(weight))
    model = ClassificationModel(saved.params, saved.vocab_size, len(labels), 0.0, _own(saved).get("pooling", "cls"))
    saved.copy_into(model, may_lack=() if model.pooled else saved.names.pooler)
    return model


def open_predictor(saved: "SavedModel", tokenizer: LoadedTokenizer, device: "torch.device") -> Classifier:
    """Return the classifier `saved` on `device`; without our key in its configuration it reads single texts.

    Raises:
        UserError: as `load`.
    """
    from maskline.finetuning.scorer import TorchScorer
    from maskline.tasks.classification.model import class_probabilities

    model = load(saved).to(device)
    labels = _labels(saved, model.classifier.out_features)
    longest = model.encoder.params.max_positions
    return Classifier(
        TorchScorer(model, device, class_probabilities), labels, tokenizer, longest, pair=_own(saved).get("pair", False)
    )


def open_graph(graph: Graph, tokenizer: LoadedTokenizer) -> Classifier:
    """Return the classifier that is a graph.

    Raises:
        UserError: its configuration does not name its classes.
    """
    classes = graph_scorer(graph)(NOTHING).shape[1]
    labels = _labels(graph, classes)
    return Classifier(graph_scorer(graph), labels, tokenizer, graph.longest, pair=_own(graph).get("pair", False))


def graph_scorer(graph: Graph) -> Scorer:
    """Return what scores a batch by a graph."""
    return lambda texts: softmax(*graph.of_texts(texts, "logits"))


def graph_outputs(model: "ClassificationModel", x: "Tensor", layout: "Layout", mask: "Tensor") -> "dict[str, Tensor]":
    """Return the scores of the classes, (B, C)."""
    if model.pooled:
        pooled = model.encoder.pool(x, layout)
    else:
        real = mask[..., None].to(x.dtype)
        pooled = (x.view(*mask.shape, -1) * real).sum(1) / real.sum(1)
    return {"logits": model.classifier(model.head(pooled))}


def _own(saved: Described) -> Mapping[str, Any]:
    own: Mapping[str, Any] = saved.config.get("maskline", {})
    return own


def _labels(saved: Described, classes: int) -> list[str]:
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
