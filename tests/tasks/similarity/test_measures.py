import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import pearsonr, spearmanr

from maskline.tasks.similarity import measures
from maskline.tasks.similarity.measures import (
    answer_ranks,
    correlation_intervals,
    correlations,
    cosines,
    mrr_interval,
    ranks,
    retrieval,
)

NAN = pytest.approx(float("nan"), nan_ok=True)


def units(*angles):
    """Return vectors of length 1 at angles in degrees."""
    turned = np.deg2rad(angles)
    return np.stack([np.cos(turned), np.sin(turned)], 1).astype(np.float32)


def test_equal_numbers_share_the_mean_of_their_ranks():
    assert ranks(np.array([0.3, 0.1, 0.3, 0.9, 0.3, 0.1])).tolist() == [4, 1.5, 4, 6, 4, 1.5]
    assert ranks(np.array([7.0])).tolist() == [1]


def test_correlations_of_a_case_with_a_tie():
    """The ranks are 1, 2.5, 2.5, 4 and 2, 1, 3, 4: their deviations -1.5, 0, 0, 1.5 and -0.5, -1.5, 0.5, 1.5."""
    scores = correlations(np.array([0.0, 2.0, 2.0, 5.0]), np.array([0.2, 0.1, 0.3, 0.4]))
    assert scores["spearman"] == pytest.approx(3 / np.sqrt(4.5 * 5))
    # The deviations of the values: -2.25, -0.25, -0.25, 2.75 and -0.05, -0.15, 0.05, 0.15.
    assert scores["pearson"] == pytest.approx((0.1125 + 0.0375 - 0.0125 + 0.4125) / np.sqrt(12.75 * 0.05))


def test_correlations_are_those_of_scipy():
    draw = np.random.default_rng(0)
    gold, found = draw.integers(6, size=101) / 2, draw.integers(40, size=101) / 40
    scores = correlations(gold, found)
    assert scores["spearman"] == pytest.approx(spearmanr(gold, found).statistic)
    assert scores["pearson"] == pytest.approx(pearsonr(gold, found).statistic)


@pytest.mark.parametrize(("gold", "found"), [([1, 2, 3], [0.1, 0.1, 0.1]), ([2, 2, 2], [0.1, 0.2, 0.3]), ([1], [0.5])])
def test_what_does_not_vary_has_no_correlation(gold, found):
    assert correlations(np.array(gold, float), np.array(found)) == {"spearman": NAN, "pearson": NAN}


def test_cosines_of_equal_texts_are_equal():
    vectors = units(0, 60, 60, 117, 251.3, 251.3)
    rows = np.array([[0, 1, 3], [1, 0, -1], [1, 2, 3], [4, 5, 0], [3, 3, -1]])
    found = cosines(vectors, rows)
    assert found.tolist() == [0.5, 0.5, 1, 1, 1]


@pytest.mark.parametrize("chunk", [1, 8, 1000])
def test_texts_are_found_among_those_of_all_pairs(chunk, monkeypatch):
    """Texts 2 and 3 belong to 0, 3 to 1, and 0 to 2; text 4 is a negative. Vectors are at these angles."""
    monkeypatch.setattr(measures, "CHUNK", chunk)
    vectors = units(0, 90, 20, 70, 80)
    rows = np.array([[0, 2, -1], [1, 3, 4], [0, 3, -1], [2, 0, -1]])
    # Text 1 has 4 before 3. Nothing else is before the right one: not 0 itself for 0, nor 2 where 0 looks for 3.
    assert answer_ranks(vectors, rows).tolist() == [1, 2, 1, 1]
    assert answer_ranks(csr_array(vectors), rows).tolist() == [1, 2, 1, 1]


def test_what_is_as_near_as_the_right_text_stands_before_it():
    vectors = np.zeros((6, 2), np.float32)
    rows = np.array([[0, 1], [2, 3], [4, 5], [4, 1]])
    # Three texts are offered; where two belong to one text, the other of them does not count.
    assert answer_ranks(vectors, rows).tolist() == [3, 3, 2, 2]


def test_retrieval_of_places():
    assert retrieval(np.array([1, 2, 1, 4])) == {"mrr": (1 + 0.5 + 1 + 0.25) / 4, "accuracy_at_1": 0.5}


def test_intervals_hold_the_score_and_narrow_with_pairs():
    draw = np.random.default_rng(1)
    gold = draw.uniform(size=400)
    found = gold + draw.normal(scale=0.3, size=400)
    wide, narrow = (correlation_intervals(gold[:n], found[:n]) for n in (40, 400))
    for name, score in correlations(gold, found).items():
        low, high = narrow[name]
        assert low < score < high
        assert high - low < wide[name][1] - wide[name][0]
    assert narrow == correlation_intervals(gold, found)
    places = draw.integers(1, 5, size=100)
    low, high = mrr_interval(places)
    assert low < retrieval(places)["mrr"] < high


def test_an_interval_of_nothing_that_varies_is_none():
    assert correlation_intervals(np.array([1.0, 2, 3]), np.full(3, 0.5)) == {
        "spearman": (NAN, NAN),
        "pearson": (NAN, NAN),
    }
    low, high = correlation_intervals(np.array([1.0, 2]), np.array([0.3, 0.4]))["spearman"]  # many draws take one pair
    assert low == high == pytest.approx(1)
