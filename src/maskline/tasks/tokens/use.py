"""Using a tagger: the entities of a text, by their characters."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maskline.core.errors import UserError, quoted
from maskline.corpus.articles import clean_line
from maskline.finetuning.use import Described, Graph, Predicted, log_softmax
from maskline.tasks.tokens.entities import OUTSIDE, entities
from maskline.tasks.tokens.tagging import Scorer, WordBatch, best_tags, word_scores
from maskline.tasks.tokens.windows import read_words
from maskline.tasks.tokens.words import words_of
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import Packed

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from torch import Tensor

    from maskline.model.attention import Layout
    from maskline.model.directory import SavedModel
    from maskline.tasks.tokens.model import TokenModel

PURPOSES = ("ForTokenClassification",)


class Tagger:
    """A trained model that finds entities."""

    fields: Sequence[str] = ("text",)  # of a protocol

    def __init__(self, score: Scorer, labels: Sequence[str], tokenizer: LoadedTokenizer, longest: int) -> None:
        """Take a model whose tags are `labels`, and which reads `longest` tokens."""
        self.score = score
        self.labels = labels
        self.tokenizer = tokenizer
        self.longest = longest

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> Predicted:
        """Return under `entities` those of each text: `start`, `end` (not included), `type`, `text`, `probability`.

        Offsets count the characters of the text as it was given, cut into words by the rule of `words_of`. An entity is
        as probable as the least probable of its tags. A text that is longer than the model reads is read in windows.
        """
        texts = [one["text"] for one in inputs]
        spans = [words_of(text) for text in texts]
        sentences = [
            [clean_line(text[word.start : word.end]) for word in words]
            for text, words in zip(texts, spans, strict=True)
        ]
        windows = read_words(sentences, self.tokenizer, self.longest)
        scores = word_scores(self.score, windows, self.labels)
        tags = best_tags(scores, windows.ends, self.labels)
        rows: list[dict[str, Any]] = []
        for text, words, end in zip(texts, spans, windows.ends, strict=True):
            first = end - len(words)
            row = []
            for entity in entities([self.labels[tag] for tag in tags[first:end]]):
                places = np.arange(first + entity.start, first + entity.end)
                start, stop = words[entity.start].start, words[entity.end - 1].end
                row.append(
                    {
                        "start": start,
                        "end": stop,
                        "type": entity.type,
                        "text": text[start:stop],
                        "probability": float(np.exp(scores[places, tags[places]].min())),
                    }
                )
            rows.append({"entities": row})
        return Predicted(rows, cut=windows.cut, windowed=windows.windowed)


def load(saved: "SavedModel") -> "TokenModel":
    """Return the tagger `saved`.

    Raises:
        UserError: its labels are no tags of IOB2, or its weights are not those of a tagger.
    """
    from maskline.tasks.tokens.model import TokenModel

    model = TokenModel(saved.params, saved.vocab_size, len(_labels(saved)), 0.0)
    saved.copy_into(model, may_lack=saved.names.pooler)
    return model


def open_predictor(saved: "SavedModel", tokenizer: LoadedTokenizer, device: "torch.device") -> Tagger:
    """Return the tagger in `saved`, on `device`.

    Raises:
        UserError: as `load`.
    """
    from maskline.finetuning.scorer import TorchScorer
    from maskline.tasks.tokens.model import log_probabilities

    model = load(saved).to(device).eval()
    return Tagger(
        TorchScorer(model, device, log_probabilities), _labels(saved), tokenizer, model.encoder.params.max_positions
    )


def open_graph(graph: Graph, tokenizer: LoadedTokenizer) -> Tagger:
    """Return the tagger that is a graph.

    Raises:
        UserError: its labels are no tags of IOB2.
    """
    return Tagger(graph_scorer(graph), _labels(graph), tokenizer, graph.longest)


def graph_scorer(graph: Graph) -> Scorer:
    """Return what scores a batch by a graph."""

    def score(batch: WordBatch) -> "NDArray[np.float32]":
        texts = Packed(batch.input_ids, batch.lengths, np.zeros_like(batch.input_ids))
        (logits,) = graph.of_tokens(texts, "logits")
        return log_softmax(logits[batch.positions])

    return score


def graph_outputs(model: "TokenModel", x: "Tensor", layout: "Layout", mask: "Tensor") -> "dict[str, Tensor]":  # noqa: ARG001
    """Return the scores of the tags, (B, T, C)."""
    return {"logits": model.classifier(model.head(x)).view(*mask.shape, -1)}


def _labels(saved: Described) -> list[str]:
    """Return the tags in the order of their numbers."""
    names = saved.config.get("id2label") or {}
    labels = [str(names.get(str(number))) for number in range(len(names))]
    begun = {label.removeprefix("B-") for label in labels if label.startswith("B-")}
    odd = [label for label in labels if label != OUTSIDE and not (label[:2] in {"B-", "I-"} and label[2:] in begun)]
    if odd or OUTSIDE not in labels:
        raise UserError(
            f"{saved.directory} has the label {quoted(odd[0])}, which is none of O, B-X and I-X: give a model with "
            "such tags"
            if odd
            else f"{saved.directory} has no label O among {quoted(labels)}: give a model that tags words"
        )
    return labels
