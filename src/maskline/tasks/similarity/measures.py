"""How well cosines rank pairs, and how well texts find those that they belong to."""

# Dimensions: P pairs, T texts, D size of a vector.

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskline.finetuning.bootstrap import RESAMPLES, bounds
from maskline.tasks.similarity.pairs import Answers, offered

if TYPE_CHECKING:
    from maskline.finetuning.task import Metrics

DIGITS = 6
"""To so many digits cosines are compared: vectors in float32 give no more, and what is equal has to be equal."""
CHUNK = 1 << 22
"""Cosines that are in memory at once."""
Numbers = NDArray[np.float64]
Vectors = Any
"""(T, D) vectors of length 1, or 0 where there is none: an array, or a sparse one of SciPy's."""


def ranks(values: Numbers) -> Numbers:
    """Return the ranks of numbers from 1, (P,); equal numbers share the mean of theirs."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    means: Numbers = np.cumsum(counts) - (counts - 1) / 2
    return means[group]


def pearson(x: Numbers, y: Numbers) -> float:
    """Return the correlation of two columns; NaN where one of them does not vary."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def correlations(gold: Numbers, cosines: Numbers) -> "Metrics":
    """Return Spearman's and Pearson's correlation of scores and cosines, both (P,)."""
    return {"spearman": pearson(ranks(gold), ranks(cosines)), "pearson": pearson(gold, cosines)}


def retrieval(found_at: NDArray[np.int64]) -> "Metrics":
    """Return the mean reciprocal rank and how often the rank is 1, of the ranks of P answers."""
    return {"mrr": float((1 / found_at).mean()), "accuracy_at_1": float((found_at == 1).mean())}


def cosines(vectors: Vectors, rows: NDArray[np.int64]) -> Numbers:
    """Return the cosine of the first two texts of each pair of `rows`, (P, K) -> (P,)."""
    found = [
        (_dense(vectors[part[:, 0]]) * _dense(vectors[part[:, 1]])).sum(1, dtype=np.float64)
        for part in _parts(rows, vectors.shape[1])
    ]
    return np.concatenate(found).round(DIGITS)


def answer_ranks(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return at which place each first text finds its second among those of all pairs, and their negatives: (P,).

    Other texts that belong to it do not count, nor does the text itself. One that is as near as the right one stands
    before it.
    """
    known = Answers(rows[:, 0].tolist(), rows[:, 1].tolist())
    there = offered(rows[:, 1:], vectors.shape[0])
    found = []
    for part in _parts(rows, vectors.shape[0]):
        questions, answers = part[:, 0], part[:, 1]
        near = np.round(_dense(vectors[questions] @ vectors.T), DIGITS)
        right = near[np.arange(len(part)), answers]
        found.append((known.choices(questions, answers, there) & (near >= right[:, None])).sum(1))
    return np.concatenate(found)


def correlation_intervals(gold: Numbers, found: Numbers) -> dict[str, tuple[float, float]]:
    """Return the confidence intervals of `correlations` by drawing pairs again and again."""
    draws = np.random.default_rng(0)
    samples = (draws.integers(len(gold), size=len(gold)) for _ in range(RESAMPLES))
    drawn = [correlations(gold[rows], found[rows]) for rows in samples]
    return {name: bounds([scores[name] for scores in drawn]) for name in drawn[0]}


def mrr_interval(found_at: NDArray[np.int64]) -> tuple[float, float]:
    """Return the confidence interval of the mean reciprocal rank by drawing pairs again and again."""
    draws = np.random.default_rng(0)
    samples = (draws.integers(len(found_at), size=len(found_at)) for _ in range(RESAMPLES))
    return bounds([float((1 / found_at[rows]).mean()) for rows in samples])


def _parts(rows: NDArray[np.int64], width: int) -> Iterator[NDArray[np.int64]]:
    """Yield as many rows at a time as fit into memory, each with `width` numbers."""
    size = max(1, CHUNK // max(1, width))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _dense(vectors: Vectors) -> NDArray[Any]:
    array: NDArray[Any] = vectors.toarray() if hasattr(vectors, "toarray") else vectors
    return array
