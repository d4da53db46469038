"""Answering questions with a trained model."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from maskline.core.errors import UserError
from maskline.finetuning.use import Predicted
from maskline.model.directory import SavedModel
from maskline.tasks.spans.examples import CONTEXT, QUESTION, without_surrogates
from maskline.tasks.spans.model import SpanModel
from maskline.tasks.spans.reading import CONFIG, Answer, Reading, answers, score_windows
from maskline.tokenization.load import LoadedTokenizer

PURPOSES = ("ForQuestionAnswering",)


class Answers:
    """Answers to questions about texts."""

    fields = (QUESTION, CONTEXT)

    def __init__(self, model: SpanModel, reading: Reading, tokenizer: LoadedTokenizer, device: torch.device) -> None:
        self.model = model
        self.reading = reading
        self.tokenizer = tokenizer
        self.device = device

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> Predicted:
        """Return the answer to each question as it stands in its context, and where; None where there is none."""
        questions, contexts = ([without_surrogates(one[name]) for one in inputs] for name in self.fields)
        windows = self.reading.windows(questions, contexts, self.tokenizer)
        found = answers(windows, score_windows(self.model, windows, self.device), self.reading)
        rows = [_row(answer, context) for answer, context in zip(found, contexts, strict=True)]
        return Predicted(rows, windows.cut, sum(len(windows.of(number)) > 1 for number in range(len(inputs))))


def open_predictor(saved: SavedModel, tokenizer: LoadedTokenizer, device: torch.device) -> Answers:
    """Return the model `saved` on `device`.

    Raises:
        UserError: its configuration does not say how it reads, or it has other weights.
    """
    own = saved.config.get(CONFIG)
    try:
        reading = Reading(**{key: value for key, value in own.items() if key != "kind"})  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        raise UserError(
            f"{saved.directory} does not say under {CONFIG} in config.json how it reads questions: give a model that "
            "was fine-tuned here"
        ) from None
    model = SpanModel(saved.params, saved.vocab_size, 0.0)
    saved.copy_into(model, may_lack=saved.names.pooler)
    return Answers(model.to(device), reading, tokenizer, device)


def _row(answer: Answer, context: str) -> dict[str, Any]:
    start, end = answer.span or (None, None)
    return {
        "answer": answer.text(context),
        "start": start,
        "end": end,
        "probability": answer.probability,
        "no_answer": answer.no_answer,
    }
