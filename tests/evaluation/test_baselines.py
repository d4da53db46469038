import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.evaluation import baselines
from maskline.evaluation.baselines import (
    Pairs,
    best_threshold,
    pair_baselines,
    training_pairs,
    unigram,
    validation_pairs,
)
from maskline.examples.pairs import IS_NEXT, RANDOM
from maskline.examples.premasked import read_premasked
from maskline.shards.store import TokenShards
from maskline.tokenization.load import SpecialIds, load_tokenizer

SPECIAL = SpecialIds(0, 1, 2, 3, 4)


def pairs(*segments, labels):
    return Pairs([(np.array(a), np.array(b)) for a, b in segments], np.array(labels))


def test_unigram_is_the_smoothed_frequency_of_ordinary_tokens():
    counts = np.array([0, 70, 0, 0, 0, 5, 2, 0])  # [UNK] occurs and is no answer: 6, 3 and 1 of 10 remain
    loss, accuracy = unigram(counts, np.array([5, 5, 6, 7]), SPECIAL)
    assert loss == pytest.approx(-(2 * math.log(0.6) + math.log(0.3) + math.log(0.1)) / 4)
    assert accuracy == 0.5


def test_unigram_names_the_first_of_equally_frequent_tokens():
    loss, accuracy = unigram(np.zeros(8, np.int64), np.array([5, 6, 6, 7]), SPECIAL)
    assert loss == pytest.approx(math.log(3))
    assert accuracy == 0.25


def test_overlap_is_the_shared_part_of_both_sets():
    some = pairs(([1, 2, 3, 3], [2, 3, 4]), ([1, 2], [3]), ([5, 6, 5], [6, 5]), labels=[0, 1, 0])
    assert some.overlaps().tolist() == [0.5, 0.0, 1.0]
    assert some.lengths().tolist() == [[4, 3, 7], [2, 1, 3], [3, 2, 5]]


@pytest.mark.parametrize(
    ("scores", "positive", "threshold"),
    [
        ([0.4, 0.1, 0.3, 0.2], [True, False, True, False], 0.3),
        ([0.1, 0.2, 0.3], [True, True, True], 0.1),
        ([0.1, 0.2, 0.3], [False, False, False], math.inf),
        ([0.2, 0.2, 0.2], [True, True, False], 0.2),
        ([0.1, 0.2, 0.3, 0.4], [True, False, True, False], 0.1),  # as good as 0.3
    ],
)
def test_threshold_by_hand(scores, positive, threshold):
    assert best_threshold(np.array(scores), np.array(positive)) == threshold


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=20))
def test_no_threshold_is_better(examples):
    scores, positive = (np.array(column) for column in zip(*examples, strict=True))
    chosen = ((scores >= best_threshold(scores * 1.0, positive)) == positive).mean()
    assert all(chosen >= ((scores >= other) == positive).mean() for other in np.arange(-0.5, 7))


def test_pairs_that_share_tokens_are_told_by_overlap_and_others_by_length():
    shared = [([1, 2, 3], [1, 2, 4])] * 100 + [([1, 2, 3], [7, 8, 9])] * 100
    long = [([1] * 9, [2] * 9)] * 100 + [([1], [2])] * 100
    labels = [IS_NEXT] * 100 + [RANDOM] * 100
    by_tokens = pairs(*shared, labels=labels)
    assert pair_baselines(by_tokens, by_tokens) == {"overlap_accuracy": 1.0, "length_accuracy": 0.5}
    by_length = pairs(*long, labels=labels)
    assert pair_baselines(by_length, by_length) == {"overlap_accuracy": 0.5, "length_accuracy": 1.0}


def test_what_is_learned_is_scored_on_other_pairs():
    training = pairs(*[([1, 2], [1, 2])] * 50, *[([1], [2])] * 50, labels=[IS_NEXT] * 50 + [RANDOM] * 50)
    validation = pairs(([3, 4], [3, 4]), ([3, 4], [5, 6]), ([3, 4], [5, 6]), ([3, 4], [5, 6]), labels=[1, 0, 1, 1])
    assert pair_baselines(training, validation) == {"overlap_accuracy": 0.5, "length_accuracy": 0.25}


def test_without_pairs_there_is_no_score():
    some, none = pairs(([1], [2]), labels=[0]), Pairs([], np.empty(0, np.int64))
    for training, validation in ((none, some), (some, none)):
        assert pair_baselines(training, validation) == {"overlap_accuracy": None, "length_accuracy": None}


def test_training_pairs_are_always_the_same_and_of_both_kinds(tiny_project, monkeypatch):
    shards = TokenShards(tiny_project / "data" / "tokens" / "train")
    first, again = training_pairs(shards, 32), training_pairs(shards, 32)
    assert set(first.labels.tolist()) == {IS_NEXT, RANDOM}
    assert first.labels.tolist() == again.labels.tolist()
    assert all(np.array_equal(a, b) for a, b in zip(first.segments[0], again.segments[0], strict=True))
    assert all(len(a) and len(b) and len(a) + len(b) <= 29 for a, b in first.segments)
    monkeypatch.setattr(baselines, "TRAINING_PAIRS", 7)
    assert 0 < len(training_pairs(shards, 32).labels) <= 7


def test_validation_pairs_are_whole_and_unmasked(tiny_project):
    validation = read_premasked(tiny_project / "data" / "validation")
    special = load_tokenizer(tiny_project / "data" / "tokenizer").special
    rows = np.flatnonzero(validation.next_sentence_label >= 0)
    found = validation_pairs(validation)
    assert found.labels.tolist() == validation.next_sentence_label[rows].tolist()
    for row, (a, b) in zip(rows, found.segments, strict=True):
        original = [special.cls, *a, special.sep, *b, special.sep]
        assert validation.original(row).tolist() == original
        assert special.mask not in original
