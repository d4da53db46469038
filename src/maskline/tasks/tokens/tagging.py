"""The tags of words: batches, log-probabilities, and the most probable sequence that is IOB2."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskline.examples.batches import by_length
from maskline.tasks.tokens.entities import OUTSIDE
from maskline.tasks.tokens.windows import Windows

BATCH_TOKENS = 4096
"""What is predicted at once, unless one sequence alone is longer."""


@dataclass(frozen=True)
class WordBatch:
    """B sequences one after the other, N tokens in all; M of them are the first pieces of words."""

    input_ids: NDArray[np.int64]
    """(N,)"""
    lengths: NDArray[np.int64]
    """(B,)"""
    positions: NDArray[np.int64]
    """(M,) which of the N tokens are tagged."""
    words: NDArray[np.int64]
    """(M,) which of all words they begin."""


def batch_of(windows: Windows, rows: NDArray[np.int64]) -> WordBatch:
    """Return the sequences `rows` one after the other."""
    ids = [windows.input_ids[row] for row in rows]
    lengths = np.array([len(part) for part in ids])
    starts = np.cumsum(lengths) - lengths
    return WordBatch(
        np.concatenate(ids),
        lengths,
        np.concatenate([start + windows.places[row] for start, row in zip(starts, rows, strict=True)]),
        np.concatenate([windows.words[row] for row in rows]),
    )


Scorer = Callable[[WordBatch], NDArray[np.float32]]
"""What gives the log-probabilities of the tags for the words of a batch, (M, C)."""


def word_scores(score: Scorer, windows: Windows, labels: Sequence[str]) -> NDArray[np.float32]:
    """Return the log-probabilities of the tags of all words, (W, C); a word without a piece is surely O."""
    scores = no_scores(windows, labels)
    for rows in by_length(windows.sizes, BATCH_TOKENS):
        batch = batch_of(windows, rows)
        scores[batch.words] = score(batch)
    return scores


def no_scores(windows: Windows, labels: Sequence[str]) -> NDArray[np.float32]:
    """Return log-probabilities by which all words are surely O, (W, C)."""
    words = int(windows.ends[-1]) if len(windows.ends) else 0
    return np.tile(np.where(np.array(labels) == OUTSIDE, 0.0, -np.inf).astype(np.float32), (words, 1))


def best_tags(scores: NDArray[np.float32], ends: NDArray[np.int64], labels: Sequence[str]) -> NDArray[np.int64]:
    """Return the tags of all words, (W,): of each sentence, the most probable ones that are IOB2 together.

    Args:
        scores: (W, C) log-probabilities of the tags of each word.
        ends: (N,) where the words of each sentence end.
        labels: the tags: O, B-X and I-X.
    """
    allowed = _follows(labels)
    tags: NDArray[np.int64] = scores.argmax(1)
    before = np.append(-1, tags[:-1])[: len(tags)]
    starts = np.append(0, ends)[:-1]
    before[starts[starts < ends]] = -1
    broken = np.unique(np.searchsorted(ends, np.flatnonzero(~allowed[before, tags]), "right"))
    for number in broken:  # the rest is best as it is
        tags[starts[number] : ends[number]] = _viterbi(scores[starts[number] : ends[number]], allowed)
    return tags


def _follows(labels: Sequence[str]) -> NDArray[np.bool_]:
    """Return which tag may stand after which, (C + 1, C): I-X after B-X and I-X alone. The last row is a beginning."""
    allowed = np.ones((len(labels) + 1, len(labels)), np.bool_)
    for column, label in enumerate(labels):
        mark, _, name = label.partition("-")
        if mark == "I":
            allowed[:, column] = [before in {f"B-{name}", f"I-{name}"} for before in [*labels, ""]]
    return allowed


def _viterbi(scores: NDArray[np.float32], allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the best path (Viterbi 1967) through the tags of a sentence, (W,)."""
    steps = np.where(allowed, 0.0, -np.inf)
    best = scores[0] + steps[-1]
    origins = []
    for row in scores[1:]:
        paths = best[:, None] + steps[:-1]
        origins.append(paths.argmax(0))
        best = paths.max(0) + row
    path = [int(best.argmax())]
    for origin in reversed(origins):
        path.append(int(origin[path[-1]]))
    return np.array(path[::-1], np.int64)
