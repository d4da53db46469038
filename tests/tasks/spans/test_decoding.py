import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskline.tasks.spans.decoding import Found, WindowScores, find


def window(first, starts, ends):
    """Return a window by the probabilities of its candidates, [CLS] first."""
    with np.errstate(divide="ignore"):
        return WindowScores(first, np.log(np.array(starts, np.float32)), np.log(np.array(ends, np.float32)))


def found(*windows, longest=3, may_be_none=True):
    return find(windows, longest, may_be_none=may_be_none)


def same(one, other):
    assert one.tokens == other.tokens
    assert one.probability == pytest.approx(other.probability, abs=1e-6)
    assert one.no_answer == pytest.approx(other.no_answer, abs=1e-6)


def test_the_most_probable_span_of_a_window_by_hand():
    one = window(0, [0.2, 0.5, 0.2, 0.1], [0.1, 0.1, 0.3, 0.5])
    # No answer 0.02; spans 0.05, 0.15, 0.25; 0.06, 0.10; 0.05: all together 0.68.
    same(found(one), Found((0, 2), 0.25 / 0.68, 0.02 / 0.68))
    same(found(one, may_be_none=False), Found((0, 2), 0.25 / 0.66, 0.0))
    same(found(one, longest=2), Found((0, 1), 0.15 / 0.43, 0.02 / 0.43))
    same(found(one, longest=1), Found((1, 1), 0.06 / 0.18, 0.02 / 0.18))
    same(found(one, longest=9), found(one))


def test_an_end_before_the_start_is_none():
    one = window(4, [0.0, 0.1, 0.9], [0.0, 0.8, 0.2])
    same(found(one), Found((5, 5), 0.18 / (0.08 + 0.02 + 0.18), 0.0))


def test_no_answer_is_said_where_it_is_the_most_probable():
    one = window(0, [0.6, 0.4], [0.6, 0.4])
    same(found(one), Found(None, 0.36 / 0.52, 0.36 / 0.52))
    same(found(one, may_be_none=False), Found((0, 0), 1.0, 0.0))


def test_one_window_with_the_answer_is_enough():
    without = window(0, [1.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    there = window(2, [0.1, 0.8, 0.1], [0.1, 0.7, 0.2])
    total = 0.01 + 0.56 + 0.16 + 0.02
    same(found(without, there), Found((2, 2), 0.56 / total, 0.01 / total))
    same(found(there, without), found(without, there))


def test_a_span_of_several_windows_counts_once_where_it_is_most_probable():
    first = window(0, [0.4, 0.2, 0.4], [0.4, 0.2, 0.4])  # tokens 0 and 1
    second = window(1, [0.5, 0.3, 0.2], [0.3, 0.2, 0.5])  # tokens 1 and 2
    # no answer min(0.16, 0.15); spans 0-0 .04, 0-1 .08, 1-1 max(.16, .06), 1-2 .15, 2-2 .10. No window has 0-2.
    total = 0.15 + 0.04 + 0.08 + 0.16 + 0.15 + 0.10
    same(found(first, second), Found((1, 1), 0.16 / total, 0.15 / total))


def test_of_equals_the_first_and_shortest_is_taken_and_no_answer_before_any():
    even = window(0, [0.25] * 4, [0.25] * 4)
    assert found(even).tokens is None
    assert found(even, may_be_none=False).tokens == (0, 0)
    assert found(window(0, [0.1, 0.3, 0.3, 0.3], [0.1, 0.0, 0.45, 0.45])).tokens == (0, 1)
    assert found(window(0, [0, 0.5, 0.5], [0, 0.5, 0.5]), window(2, [0, 0.5, 0.5], [0, 0.5, 0.5])).tokens == (0, 0)


def test_a_context_without_tokens_has_no_answer():
    same(found(window(0, [1.0], [1.0]), may_be_none=False), Found(None, 1.0, 1.0))
    same(found(window(0, [1.0], [1.0])), Found(None, 1.0, 1.0))


def test_scores_that_are_no_numbers_give_an_answer_too():
    nothing = np.full(3, np.nan, np.float32)
    assert found(WindowScores(0, nothing, nothing), may_be_none=False).tokens == (0, 0)


SCORE = st.floats(-9, 0, width=32)


@st.composite
def read_contexts(draw):
    """Draw windows that cover a context."""
    tokens, room = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    stride = draw(st.integers(1, room))
    windows = []
    for first in range(0, max(1, tokens - room + stride), stride):
        size = min(room, tokens - first) + 1
        scores = [draw(st.lists(SCORE, min_size=size, max_size=size)) for _ in range(2)]
        windows.append(WindowScores(first, *(np.array(one, np.float32) for one in scores)))
    return tokens, windows


@given(read_contexts(), st.integers(1, 6), st.booleans())
def test_it_is_the_best_of_all_spans(drawn, longest, may_be_none):
    tokens, windows = drawn
    scores = {}
    for start, end in itertools.product(range(tokens), repeat=2):
        held = [
            float(one.starts[start - one.first + 1]) + float(one.ends[end - one.first + 1])
            for one in windows
            if one.first <= start <= end < one.first + len(one.starts) - 1 and end - start < longest
        ]
        if held:
            scores[start, end] = max(held)
    none = min(float(one.starts[0]) + float(one.ends[0]) for one in windows)
    total = sum(map(math.exp, scores.values())) + (math.exp(none) if may_be_none else 0)
    answer = find(windows, longest, may_be_none=may_be_none)
    assert answer.no_answer == pytest.approx(math.exp(none) / total if may_be_none else 0, rel=1e-4)
    best = max(scores.values())
    if answer.tokens is None:
        assert may_be_none
        assert none >= best - 1e-5
        assert answer.probability == answer.no_answer
    else:
        assert scores[answer.tokens] == pytest.approx(best, abs=1e-5)
        assert answer.probability == pytest.approx(math.exp(best) / total, rel=1e-4)
