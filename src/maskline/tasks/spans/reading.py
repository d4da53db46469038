"""How a model reads questions with their contexts, and answers them: the same in training, scoring and use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskline.examples.batches import by_length
from maskline.tasks.spans.decoding import WindowScores, find
from maskline.tasks.spans.windows import WindowBatch, Windows, encode_windows
from maskline.tokenization.load import LoadedTokenizer

CONFIG = "maskline"
"""The key of config.json that is ours: it holds the kind and its `Reading`."""
KIND = "spans"
BATCH_TOKENS = 4096
"""What is read at once, unless one window alone is longer."""


@dataclass(frozen=True)
class Reading:
    """How a model reads, and what it may answer."""

    max_seq_length: int
    max_question_tokens: int
    stride: int
    max_answer_tokens: int
    no_answer: bool
    """Whether it may say that there is no answer."""

    def windows(self, questions: list[str], contexts: list[str], tokenizer: LoadedTokenizer) -> Windows:
        """Return each of the `questions` with its context in windows."""
        return encode_windows(
            questions,
            contexts,
            tokenizer,
            max_seq_length=self.max_seq_length,
            max_question_tokens=self.max_question_tokens,
            stride=self.stride,
        )


class Answer(NamedTuple):
    """What a model says to a question."""

    span: tuple[int, int] | None
    """The characters of the context, the end not included; None: no answer."""
    probability: float
    """Of what is said."""
    no_answer: float
    """The probability of no answer; 0 where the model may not say that."""

    def text(self, context: str) -> str | None:
        """Return the answer as it stands in its context."""
        return None if self.span is None else context[slice(*self.span)]


Scorer = Callable[[WindowBatch], NDArray[np.float32]]
"""What gives the log-probability of each candidate of a batch to be start and to be end, (B, C, 2)."""


def score_windows(score: Scorer, windows: Windows) -> list[WindowScores]:
    """Return what a model says of each window."""
    scores: dict[int, WindowScores] = {}
    for rows in by_length(windows.sizes, BATCH_TOKENS):
        batch = windows.batch(rows)
        for row, one, count in zip(rows.tolist(), score(batch), batch.are_there.sum(1), strict=True):
            scores[row] = WindowScores(int(windows.firsts[row]), *one[:count].T)
    return [scores[row] for row in range(len(windows.input_ids))]


def answers(windows: Windows, scores: Sequence[WindowScores], reading: Reading) -> list[Answer]:
    """Return the most probable answer to each question, by the rule of `decoding`."""
    found = []
    for question, places in enumerate(windows.places):
        of_windows = [scores[window] for window in windows.of(question)]
        tokens, probability, no_answer = find(of_windows, reading.max_answer_tokens, may_be_none=reading.no_answer)
        span = None if tokens is None else (int(places[tokens[0]][0]), int(places[tokens[1]][1]))
        found.append(Answer(span, probability, no_answer))
    return found
