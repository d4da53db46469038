"""Questions with their contexts as a model reads them: [CLS] question [SEP] part of the context [SEP].

A context that does not fit is read in several windows, which overlap. The candidates of a window are what may be the
beginning or the end of an answer: the tokens of its context, and [CLS], which stands for "not here". Candidate 0 is
[CLS], candidate 1 the first token of the window's part of the context.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.tasks.spans.answers import TATWEEL
from maskline.tokenization.load import LoadedTokenizer

ELSEWHERE = (0, 0)
"""The target of a window in which the answer does not stand: [CLS] as start and as end."""


@dataclass(frozen=True)
class WindowBatch:
    """B windows one after the other, N tokens in all, the most of candidates being C."""

    input_ids: NDArray[np.int64]
    """(N,)"""
    token_type_ids: NDArray[np.int64]
    """(N,) 0 for [CLS] question [SEP], 1 for the rest."""
    lengths: NDArray[np.int64]
    """(B,)"""
    candidates: NDArray[np.int64]
    """(B, C) which of the N tokens they are; 0 where a window has fewer."""
    are_there: NDArray[np.bool_]
    """(B, C)"""


@dataclass(frozen=True)
class Windows:
    """The windows of some questions, those of one question after those of another."""

    input_ids: list[NDArray[np.int64]]
    """Of each window."""
    prefixes: NDArray[np.int64]
    """(W,) tokens of each window before the first of the context."""
    firsts: NDArray[np.int64]
    """(W,) which token of the context is the first of each window."""
    bounds: NDArray[np.int64]
    """(Q + 1,) the windows of question q are those from `bounds[q]` to `bounds[q + 1]`."""
    places: list[NDArray[np.int64]]
    """Of each question the characters of its context's tokens, from and to, (n, 2), as the context was given."""
    cut: int
    """How many of the questions were cut."""
    unk_rate: float

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(W,) tokens of each window."""
        return np.array([len(ids) for ids in self.input_ids], np.int64)

    def of(self, question: int) -> range:
        """Return the windows of a question."""
        return range(self.bounds[question], self.bounds[question + 1])

    def held(self, window: int) -> int:
        """Return how many tokens of the context a window has."""
        return len(self.input_ids[window]) - int(self.prefixes[window]) - 1

    def batch(self, rows: NDArray[Any] | Sequence[int]) -> WindowBatch:
        """Return some windows."""
        ids = [self.input_ids[row] for row in rows]
        lengths = np.array([len(part) for part in ids], np.int64)
        begins = np.cumsum(lengths) - lengths
        prefixes = self.prefixes[rows]
        of_context = np.arange(lengths.sum()) - np.repeat(begins, lengths) >= np.repeat(prefixes, lengths)
        counts = lengths - prefixes  # its tokens of the context, and [CLS]; the last [SEP] is none
        numbers = np.arange(counts.max())
        are_there = numbers < counts[:, None]
        places = np.where(numbers > 0, begins[:, None] + prefixes[:, None] + numbers - 1, begins[:, None])
        return WindowBatch(
            np.concatenate(ids), of_context.astype(np.int64), lengths, np.where(are_there, places, 0), are_there
        )

    def targets(self, question: int, start: int, end: int) -> list[tuple[int, int]]:
        """Return the first and the last candidate of the answer in each window of a question.

        It is that of the characters `start` to `end`; the end is not included. A window must hold all of it.
        """
        overlaps = (self.places[question][:, 1] > start) & (self.places[question][:, 0] < end)
        inside = np.flatnonzero(overlaps)
        found = []
        for window in self.of(question):
            first, count = int(self.firsts[window]), self.held(window)
            whole = len(inside) > 0 and first <= inside[0] and inside[-1] < first + count
            found.append((int(inside[0]) - first + 1, int(inside[-1]) - first + 1) if whole else ELSEWHERE)
        return found


def encode_windows(
    questions: list[str],
    contexts: list[str],
    tokenizer: LoadedTokenizer,
    *,
    max_seq_length: int,
    max_question_tokens: int,
    stride: int,
) -> Windows:
    """Return each of the `questions` with its context, in windows of at most `max_seq_length` tokens.

    A window begins `stride` tokens after the one before, or as many as it holds, if these are fewer. A special token
    that is spelled out in a text is text: so it was in pretraining.
    """
    special = tokenizer.special
    unique = list(dict.fromkeys(contexts))  # several questions are about one
    encodings = dict(zip(unique, tokenizer.plain.encode_batch(unique, add_special_tokens=False), strict=True))
    places = {context: _places(context, encoding.offsets) for context, encoding in encodings.items()}
    asked = [encoding.ids for encoding in tokenizer.plain.encode_batch(questions, add_special_tokens=False)]
    input_ids: list[NDArray[np.int64]] = []
    prefixes: list[int] = []
    firsts: list[int] = []
    bounds = [0]
    tokens = unknown = 0
    for question, context in zip(asked, contexts, strict=True):
        ids = encodings[context].ids
        prefix = [special.cls, *question[:max_question_tokens], special.sep]
        room = max_seq_length - len(prefix) - 1
        for first in window_starts(len(ids), room, stride):
            input_ids.append(np.array([*prefix, *ids[first : first + room], special.sep], np.int64))
            prefixes.append(len(prefix))
            firsts.append(first)
        bounds.append(len(input_ids))
        tokens += len(prefix) - 2 + len(ids)
        unknown += prefix.count(special.unk) + ids.count(special.unk)
    return Windows(
        input_ids,
        np.array(prefixes, np.int64),
        np.array(firsts, np.int64),
        np.array(bounds, np.int64),
        [places[context] for context in contexts],
        cut=sum(len(question) > max_question_tokens for question in asked),
        unk_rate=unknown / max(1, tokens),
    )


def window_starts(tokens: int, room: int, stride: int) -> range:
    """Return where the windows of `tokens` tokens begin, at least one; each holds up to `room` tokens."""
    step = min(stride, room)
    return range(0, max(1, tokens - room + step), step)


def _places(context: str, offsets: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Return the characters of tokens, (n, 2).

    A tokenizer leaves out the marks that it composes with a letter or removes: they belong to the token before.
    """
    places = np.array(offsets, np.int64).reshape(-1, 2)
    for place in places:
        while place[1] < len(context) and _continues(context[place[1]]):
            place[1] += 1
    return places


def _continues(character: str) -> bool:
    return character == TATWEEL or unicodedata.category(character).startswith("M")
