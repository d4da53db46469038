"""Pairs of texts as the model reads them: each text once, however many pairs it is in."""

# Dimensions: P pairs, K = 2 texts of each or 3 with a negative, T texts that differ, B pairs of a batch, D size of a
# vector.

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskline.examples.batches import by_length
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import EncodedTexts, Packed

BATCH_TOKENS = 4096
"""What is encoded at once, unless one text alone is longer."""
NONE = -1
"""The number of a text that is not there."""


@dataclass(frozen=True)
class EncodedPairs:
    """P pairs of texts, T of which differ to the model."""

    texts: EncodedTexts
    spelled: list[str]
    """(T,) each text as it was given, or one of those that are the same to the model."""
    rows: NDArray[np.int64]
    """(P, K) numbers of the texts of a pair, NONE where there is no negative."""
    cut: int
    """How many pairs have a text that was longer than the model reads."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(P,) tokens of the texts of a pair together."""
        tokens = np.append(self.texts.sizes, 0)  # the last is that of NONE
        of_pairs: NDArray[np.int64] = tokens[self.rows].sum(1)
        return of_pairs


def encode_pairs(columns: Sequence[Sequence[str | None]], tokenizer: LoadedTokenizer, longest: int) -> EncodedPairs:
    """Return pairs of K `columns` of texts, each cut at its end to `longest` tokens with [CLS] and [SEP].

    Texts with the same tokens are one. Special tokens that are spelled out are text, as everywhere.
    """
    strings = list(dict.fromkeys(text for column in columns for text in column if text is not None))
    encodings = tokenizer.plain.encode_batch(strings, add_special_tokens=False)
    special = tokenizer.special
    numbers: dict[tuple[int, ...], int] = {}
    number_of: dict[str | None, int] = {None: NONE}
    too_long = {text for text, encoding in zip(strings, encodings, strict=True) if len(encoding.ids) > longest - 2}
    spelled = []
    for text, encoding in zip(strings, encodings, strict=True):
        ids = tuple(encoding.ids[: longest - 2])
        if ids not in numbers:
            spelled.append(text)
        number_of[text] = numbers.setdefault(ids, len(numbers))
    unknown = sum(ids.count(special.unk) for ids in numbers)
    cut = sum(any(text in too_long for text in pair) for pair in zip(*columns, strict=True))
    return EncodedPairs(
        EncodedTexts(
            [np.array([special.cls, *ids, special.sep], np.int64) for ids in numbers],
            len(too_long),
            unknown / max(1, sum(map(len, numbers))),
        ),
        spelled,
        np.array([[number_of[text] for text in column] for column in columns], np.int64).T,
        cut,
    )


Scorer = Callable[[Packed], NDArray[np.float32]]
"""What gives the vectors of the texts of a batch, (B, D), each of length 1."""


def all_vectors(score: Scorer, texts: EncodedTexts) -> NDArray[np.float32]:
    """Return the vectors of texts, at least one, (T, D), each of length 1."""
    batches = [*by_length(texts.sizes, BATCH_TOKENS)]
    found = np.concatenate([score(texts.packed(rows)) for rows in batches])
    vectors = np.empty_like(found)
    vectors[np.concatenate(batches)] = found
    return vectors


class Answers:
    """Which texts belong together in a set of pairs, so that none of them is taken for a wrong answer."""

    def __init__(self, questions: Iterable[int], answers: Iterable[int]) -> None:
        """Take pairs of numbers of texts."""
        self._of: dict[int, set[int]] = {}
        for question, answer in zip(questions, answers, strict=True):
            self._of.setdefault(question, {question}).add(answer)

    def choices(
        self, questions: NDArray[np.int64], answers: NDArray[np.int64], offered: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return among which texts each question has to find its answer, (B, T).

        These are all that are `offered`, (T,), each once, but the question itself and its other answers.
        """
        among = np.tile(offered, (len(questions), 1))
        for row, question in enumerate(questions.tolist()):
            among[row, list(self._of[question])] = False
        among[np.arange(len(questions)), answers] = True
        return among


def offered(numbers: NDArray[np.int64], texts: int) -> NDArray[np.bool_]:
    """Return which of `texts` texts are among `numbers`, NONE aside: (T,)."""
    there = np.zeros(texts, np.bool_)
    there[numbers[numbers != NONE]] = True
    return there
