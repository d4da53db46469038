"""Confidence intervals by drawing the test examples again and again (Efron & Tibshirani 1993, ch. 13)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
"""Test sets that are drawn, always the same ones."""


def drawn(count: int) -> NDArray[np.int64]:
    """Return how often each of `count` examples is in each test set that is drawn, (RESAMPLES, count)."""
    return np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)


def bounds(values: Iterable[float]) -> tuple[float, float]:
    """Return where the middle 95 % of what was drawn lies; a draw that gives no number is none."""
    numbers = [value for value in values if value == value]  # noqa: PLR0124  # NaN does not
    if not numbers:
        return float("nan"), float("nan")
    return float(np.quantile(numbers, 0.025)), float(np.quantile(numbers, 0.975))
