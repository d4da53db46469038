"""From the scores of windows to the answer, and how sure a model is of it.

Each window has a probability of each candidate to be the start, and to be the end. A span is as probable in a window as
its start and its end are, multiplied; where several windows hold it, it counts as in the one where that is highest.
That there is no answer is as probable as [CLS] is start and end, multiplied; of several windows it counts as in the one
where that is lowest: one window with the answer is enough (Devlin et al. 2019, sec. 4.3). These numbers are divided by
their sum, over all spans that may be predicted and, where it may be, over no answer: so they are probabilities of the
answer, whatever the number of windows. The most probable is predicted. Of equals it is no answer, then the span that
begins first, then the shortest.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray


class WindowScores(NamedTuple):
    """What a model says of one window, C candidates."""

    first: int
    """Which token of the context is the first of the window."""
    starts: NDArray[np.floating]
    """(C,) log-probability of each candidate to be the start."""
    ends: NDArray[np.floating]
    """(C,) to be the end."""


class Found(NamedTuple):
    """An answer, or none."""

    tokens: tuple[int, int] | None
    """The first and the last of the context; None: no answer."""
    probability: float
    """Of what is found."""
    no_answer: float
    """The probability of no answer; 0 where that may not be predicted."""


def find(windows: Sequence[WindowScores], longest: int, *, may_be_none: bool) -> Found:
    """Return the most probable answer to a question in the windows of its context, of at most `longest` tokens.

    A context without tokens has none.
    """
    count = max(window.first + len(window.starts) - 1 for window in windows)
    if not count:
        return Found(None, 1.0, 1.0)
    spans = np.full((count, longest), -np.inf)  # by first token, and tokens behind it
    for window in windows:
        starts, ends = window.starts[1:], window.ends[1:]
        if len(starts):
            beyond = np.full(longest - 1, -np.inf)
            scores = starts[:, None] + sliding_window_view(np.concatenate([ends, beyond]), longest)
            held = spans[window.first : window.first + len(starts)]
            np.maximum(held, scores, out=held)
    none = min(float(window.starts[0] + window.ends[0]) for window in windows) if may_be_none else -np.inf
    with np.errstate(invalid="ignore"):  # a model that has diverged gives no numbers, and an answer all the same
        everything = np.logaddexp(np.logaddexp.reduce(spans.ravel()), none)
    first, behind = divmod(int(spans.argmax()), longest)
    best = spans[first, behind]
    no_answer = float(np.exp(none - everything))
    if none >= best:
        return Found(None, no_answer, no_answer)
    return Found((first, first + behind), float(np.exp(best - everything)), no_answer)
