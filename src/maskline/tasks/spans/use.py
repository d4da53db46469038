"""Answering questions with a trained model."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskline.core.errors import UserError
from maskline.finetuning.use import Described, Graph, Predicted, log_softmax
from maskline.tasks.spans.examples import CONTEXT, QUESTION, without_surrogates
from maskline.tasks.spans.reading import CONFIG, Answer, Reading, Scorer, answers, score_windows
from maskline.tasks.spans.windows import WindowBatch
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import Packed

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from maskline.model.attention import Layout
    from maskline.model.directory import SavedModel
    from maskline.tasks.spans.model import SpanModel

PURPOSES = ("ForQuestionAnswering",)


class Answers:
    """Answers to questions about texts."""

    fields = (QUESTION, CONTEXT)

    def __init__(self, score: Scorer, reading: Reading, tokenizer: LoadedTokenizer) -> None:
        self.score = score
        self.reading = reading
        self.tokenizer = tokenizer

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> Predicted:
        """Return the answer to each question as it stands in its context, and where; None where there is none."""
        questions, contexts = ([without_surrogates(one[name]) for one in inputs] for name in self.fields)
        windows = self.reading.windows(questions, contexts, self.tokenizer)
        found = answers(windows, score_windows(self.score, windows), self.reading)
        rows = [_row(answer, context) for answer, context in zip(found, contexts, strict=True)]
        return Predicted(rows, windows.cut, sum(len(windows.of(number)) > 1 for number in range(len(inputs))))


def load(saved: "SavedModel") -> "SpanModel":
    """Return the network of `saved`.

    Raises:
        UserError: its configuration does not say how it reads, or it has other weights.
    """
    from maskline.tasks.spans.model import SpanModel

    _reading(saved)
    model = SpanModel(saved.params, saved.vocab_size, 0.0)
    saved.copy_into(model, may_lack=saved.names.pooler)
    return model


def open_predictor(saved: "SavedModel", tokenizer: LoadedTokenizer, device: "torch.device") -> Answers:
    """Return the model `saved` on `device`.

    Raises:
        UserError: as `load`.
    """
    from maskline.finetuning.scorer import TorchScorer
    from maskline.tasks.spans.model import log_probabilities

    return Answers(TorchScorer(load(saved).to(device), device, log_probabilities), _reading(saved), tokenizer)


def open_graph(graph: Graph, tokenizer: LoadedTokenizer) -> Answers:
    """Return the model that is a graph.

    Raises:
        UserError: its configuration does not say how it reads.
    """
    return Answers(graph_scorer(graph), _reading(graph), tokenizer)


def graph_scorer(graph: Graph) -> Scorer:
    """Return what scores a batch by a graph."""

    def score(batch: WindowBatch) -> NDArray[np.float32]:
        texts = Packed(batch.input_ids, batch.lengths, batch.token_type_ids)
        logits = np.stack(graph.of_tokens(texts, "start_logits", "end_logits"), -1)
        return log_softmax(np.where(batch.are_there[..., None], logits[batch.candidates], -np.inf), 1)

    return score


def graph_outputs(model: "SpanModel", x: "Tensor", layout: "Layout", mask: "Tensor") -> "dict[str, Tensor]":  # noqa: ARG001
    """Return the scores of each token as start and as end, (B, T) each."""
    start, end = model.qa_outputs(model.head(x)).view(*mask.shape, -1).unbind(-1)
    return {"start_logits": start, "end_logits": end}


def _reading(saved: Described) -> Reading:
    own = saved.config.get(CONFIG)
    try:
        return Reading(**{key: value for key, value in own.items() if key != "kind"})  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        raise UserError(
            f"{saved.directory} does not say under {CONFIG} in config.json how it reads questions: give a model that "
            "was fine-tuned here"
        ) from None


def _row(answer: Answer, context: str) -> dict[str, Any]:
    start, end = answer.span or (None, None)
    return {
        "answer": answer.text(context),
        "start": start,
        "end": end,
        "probability": answer.probability,
        "no_answer": answer.no_answer,
    }
