"""What several seeds say: means with their intervals, and two configurations in pairs.

Pairs, masks and order follow the seed, so that runs of two configurations with the same seed have that in common.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from maskline.core.text import printable
from maskline.reporting.runs import SEED, Run
from maskline.reporting.tables import ABSENT, fitting, format_number

LEVEL = 0.05
"""A difference is decided where its p is below this; intervals cover the rest."""
MOST_FLIPPED = 20
"""Seeds of which all changes of sign are counted: a million."""
ARROWS = {"higher": "↑", "lower": "↓"}


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean of some values by Student's t, None for less than two of them."""
    from scipy.special import stdtrit

    if len(values) < 2:
        return None
    half = float(stdtrit(len(values) - 1, 1 - LEVEL / 2)) * stdev(values) / math.sqrt(len(values))
    return mean(values) - half, mean(values) + half


def sign_flip(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of a mean of differences: the share of changes of sign with one at least as far from 0.

    It is exact: all 2^n are counted (Fisher 1935). None where there is no difference or there are more than 20.
    """
    import numpy as np

    if not 1 <= len(differences) <= MOST_FLIPPED:
        return None
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    rounding = 1e-9 * sum(map(abs, differences))
    return float(np.mean(np.abs(sums) >= abs(math.fsum(differences)) - rounding))


def seeds_needed() -> int:
    """Return the least number of seeds whose smallest p, 2 / 2^n, is below LEVEL."""
    return next(n for n in range(1, MOST_FLIPPED) if 2 / 2**n < LEVEL)


@dataclass(frozen=True)
class Pairs:
    """A number of two configurations, in pairs of runs with the same seed."""

    differences: Mapping[Any, float]
    """Seed -> how far the one is from the other."""

    @property
    def mean(self) -> float:
        """The mean of the differences."""
        return mean(self.differences.values())

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval."""
        return interval(list(self.differences.values()))

    @property
    def p(self) -> float | None:
        """The two-sided p of a change of signs."""
        return sign_flip(list(self.differences.values()))

    @property
    def verdict(self) -> str | None:
        """That these are too few to decide anything; None where they are not."""
        count, needed = len(self.differences), seeds_needed()
        return f"{count} seeds cannot decide this, {needed} could" if count < needed else None


def seeds_table(runs: Sequence[Run], width: int | None = None) -> str:
    """Return what runs of one configuration reached, for a terminal of `width` characters; None: any."""
    columns = {key: column for run in runs for key, column in run.columns.items()}
    header = ["measured", "mean", "sd", "95 % interval", *(f"seed {run.params.get(SEED)}" for run in runs)]
    rows = []
    for key, column in columns.items():
        values = [run.metrics.get(key) for run in runs]
        found = [value for value in values if value is not None]
        whole = found if len(found) == len(values) else []  # of some, nothing is said
        average = mean(whole) if whole else None
        rows.append(
            [
                f"{column.title} {ARROWS[column.better]}",
                format_number(average),
                format_number(stdev(whole) if len(whole) > 1 else None, beside=average),
                range_text(interval(whole), average),
                *(format_number(value) for value in values),
            ]
        )
    return fitting(header, rows, [False, *[True] * (len(header) - 1)], printable, width)


def range_text(bounds: tuple[float, float] | None, beside: float | None, *, sign: str = "") -> str:
    """Return an interval as text."""
    if bounds is None:
        return ABSENT
    return " to ".join(format_number(bound, sign=sign, beside=beside) for bound in bounds)
