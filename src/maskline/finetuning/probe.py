"""A linear probe: logistic regression on what a frozen encoder says, the cheapest use of it (Alain & Bengio 2017)."""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

INVERSE_PENALTIES = (0.001, 0.01, 0.1, 1.0)
"""Of numbers that are scaled to a mean of 0 and a deviation of 1."""
ITERATIONS = 1000
Vectors = NDArray[np.float32]
"""(N, D)"""


@dataclass(frozen=True)
class Probe:
    """Regression with the vectors and the penalty that served the validation split best."""

    vectors: str
    """Which, of several kinds."""
    scale: StandardScaler
    regression: LogisticRegression

    def log_probabilities(self, x: Vectors, classes: int) -> Vectors:
        """Return those of all classes for each vector, (N, classes): minus infinity where training had none of one."""
        found = np.full((len(x), classes), -np.inf, np.float32)
        with np.errstate(divide="ignore"):  # a class may be out of the question
            found[:, self.regression.classes_] = self.regression.predict_log_proba(self.scale.transform(x))
        return found


def some(count: int, most: int) -> NDArray[np.int64]:
    """Return the numbers of all of `count` examples, or of `most` of them, evenly spaced."""
    return np.arange(count) if count <= most else np.arange(most) * count // most


def fit_probe(
    training: Mapping[str, Vectors],
    labels: NDArray[np.int64],
    validation: Mapping[str, Vectors],
    score: Callable[[Vectors], float],
    classes: int,
    *,
    balanced: bool = False,
) -> Probe | None:
    """Return a probe; None where all of `labels` are one, of which regression cannot learn.

    Args:
        training: the vectors of each kind.
        labels: (N,) their classes, below `classes`.
        validation: the vectors of each kind.
        score: what tells how good a probe is, of its log-probabilities on the validation split, (N, classes); of
            several that are equal, the first kind and the strongest penalty stay.
        classes: how many there are.
        balanced: whether classes weigh by the inverse of their frequency.
    """
    if len(set(labels.tolist())) == 1:
        return None
    best, found = -np.inf, None
    for name, x in training.items():
        scale = StandardScaler().fit(x)
        scaled = scale.transform(x)
        regression = LogisticRegression(
            warm_start=True, max_iter=ITERATIONS, class_weight="balanced" if balanced else None
        )
        for penalty in INVERSE_PENALTIES:
            regression.set_params(C=penalty).fit(scaled, labels)
            probe = Probe(name, scale, copy(regression))
            if (value := score(probe.log_probabilities(validation[name], classes))) > best:
                best, found = value, probe
    assert found is not None
    return found
