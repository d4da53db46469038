import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskline.tasks.tokens.tagging import best_tags

LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
O, B_X, I_X, B_Y, I_Y = range(5)  # noqa: E741


def allowed(tags):
    names = [LABELS[tag] for tag in tags]
    pairs = zip(["O", *names], names, strict=False)
    return all(not tag.startswith("I") or before[1:] == tag[1:] for before, tag in pairs)


def best(rows, *lengths):
    return best_tags(np.array(rows, np.float32).reshape(-1, 5), np.cumsum(lengths, dtype=np.int64), LABELS).tolist()


def test_the_most_probable_tags_that_may_follow_one_another():
    sure = [-9, -9, -0.1, -9, -9]  # I-X
    assert best([[-9, -1, -0.5, -9, -9], sure], 2) == [B_X, I_X]  # I-X I-X would be more probable, and is no entity
    assert best([[-0.1, -9, -9, -9, -9], [-0.5, -9, -0.1, -9, -9]], 2) == [O, O]
    assert best([[-9, -9, -9, -0.1, -9], [-3, -2.9, -0.1, -9, -2]], 2) == [B_Y, I_Y]


def test_a_sentence_does_not_continue_the_one_before():
    begun, goes_on = [-9, -0.1, -9, -9, -9], [-1, -2, -0.1, -9, -9]
    assert best([begun, goes_on], 2) == [B_X, I_X]
    assert best([begun, goes_on], 1, 1) == [B_X, O]
    assert best([begun, goes_on], 0, 1, 0, 1, 0) == [B_X, O]


def test_without_words_there_are_no_tags():
    assert best([]) == best([], 0) == best([], 0, 0) == []


@given(st.lists(st.lists(st.lists(st.integers(-9, 0), min_size=5, max_size=5), max_size=4), max_size=3))
def test_no_other_tags_are_more_probable(sentences):
    lengths = [len(rows) for rows in sentences]
    found = best([row for rows in sentences for row in rows], *lengths)
    for rows, end in zip(sentences, np.cumsum(lengths, dtype=int), strict=True):
        tags = found[end - len(rows) : end]
        assert allowed(tags)
        paths = filter(allowed, itertools.product(range(5), repeat=len(rows)))
        highest = max(sum(row[tag] for row, tag in zip(rows, path, strict=True)) for path in paths)
        assert sum(row[tag] for row, tag in zip(rows, tags, strict=True)) == pytest.approx(highest)
