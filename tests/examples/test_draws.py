from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.examples.draws import below, draw, key, permute, uniform

SEEDS = st.integers(0, 2**63)
GOLDEN = {
    "key": [8331462364572084373],
    "draw": [6582086356102008234, 9161882505822793235, 18260105803248391079],
    "below": [34, 48, 96, 65, 3, 72, 50, 22],
    "uniform": [0.35681561633864967, 0.4966666458435004],
    "permute": [5, 351, 993, 328, 688, 315, 310, 525],
}


def chi_square(counts):
    """Return Pearson's statistic against equal shares, over its degrees of freedom: near 1 for honest draws."""
    expected = counts.sum() / counts.size
    return ((counts - expected) ** 2 / expected).sum() / (counts.size - 1)


@settings(deadline=None)
@given(st.integers(1, 700), SEEDS)
def test_an_order_holds_every_position_once(n, seed):
    order = permute(key(seed, "order"), np.arange(n), n)
    assert sorted(order.tolist()) == list(range(n))


@settings(deadline=None)
@given(st.integers(1, 10**9), SEEDS, st.data())
def test_an_order_needs_no_table(n, seed, data):
    positions = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=30, unique=True)))
    keys = key(seed, "order")
    together = permute(keys, positions, n)
    assert len(set(together.tolist())) == len(positions)
    assert ((together >= 0) & (together < n)).all()
    assert together.tolist() == [permute(keys, positions[at : at + 1], n)[0] for at in range(len(positions))]


def test_all_orders_are_equally_likely():
    orders = {order: number for number, order in enumerate(permutations(range(4)))}
    drawn = [orders[tuple(permute(key(seed, "order"), np.arange(4), 4).tolist())] for seed in range(900)]
    assert chi_square(np.bincount(drawn, minlength=24)) < 1.6


def test_an_order_sends_every_position_anywhere():
    n = 50
    counts = np.zeros((n, n), int)
    for seed in range(1000):
        counts[np.arange(n), permute(key(seed, "order"), np.arange(n), n)] += 1
    assert chi_square(counts) < 1.15
    # Neighbours do not stay together: the distance between them is spread over all there are.
    steps = np.diff(permute(key(0, "order"), np.arange(10_000), 10_000)) % 10_000
    assert chi_square(np.bincount(steps // 100, minlength=100)) < 1.5


def test_draws_are_uniform_and_independent():
    bits = draw(key(0, "test"), np.arange(100_000))
    assert len(np.unique(bits)) == len(bits)
    for shift in (0, 8, 16, 24, 32, 40, 48, 56):
        assert chi_square(np.bincount(((bits >> np.uint64(shift)) & np.uint64(255)).astype(int), minlength=256)) < 1.3
    for other in (draw(key(1, "test"), np.arange(100_000)), draw(key(0, "tests"), np.arange(100_000)), bits[1:]):
        together = below(bits[: len(other)], 16) * 16 + below(other, 16)
        assert chi_square(np.bincount(together, minlength=256)) < 1.3


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 97, 1000])
def test_integers_below_a_bound_are_equally_likely(bound):
    drawn = below(draw(key(0, "test"), np.arange(100 * bound)), bound)
    assert drawn.min() == 0
    assert drawn.max() == bound - 1
    if bound > 1:
        assert chi_square(np.bincount(drawn, minlength=bound)) < 3


def test_a_bound_may_differ_from_draw_to_draw():
    bounds = np.array([1, 2, 1000, 2**32 - 1] * 1000)
    drawn = below(draw(key(0, "test"), np.arange(4000)), bounds)
    assert ((drawn >= 0) & (drawn < bounds)).all()
    assert drawn[3::4].max() > 2**31


def test_uniform_numbers_are_in_the_unit_interval():
    drawn = uniform(draw(key(0, "test"), np.arange(100_000)))
    assert 0 <= drawn.min() < 1e-4
    assert 1 - 1e-4 < drawn.max() < 1
    assert drawn.mean() == pytest.approx(0.5, abs=0.005)
    assert uniform(np.array([2**64 - 1], np.uint64))[0] < 1


def test_what_is_drawn_does_not_depend_on_what_else_is():
    keys = draw(key(3, "masks", 2), np.arange(7))
    table = draw(keys[:, None], np.arange(11))
    assert table.shape == (7, 11)
    for row in range(7):
        assert (draw(keys[row : row + 1], np.arange(11)) == table[row]).all()
        assert (draw(keys[[row, 3]][:, None], np.arange(5))[0] == table[row, :5]).all()


def test_seed_purpose_and_counters_each_make_another_key():
    keys = [key(s, p, *c) for s in (0, 1, 11) for p in ("order", "masks") for c in ((), (0,), (1,), (1, 1), (11,))]
    assert len({int(k[0]) for k in keys}) == len(keys)


def test_values_are_the_same_on_every_platform():
    """Data stages promise the same bytes everywhere; these were drawn on Linux on x86-64."""
    keys = key(0, "masks", 3)
    assert keys.tolist() == GOLDEN["key"]
    assert draw(keys, np.arange(3)).tolist() == GOLDEN["draw"]
    assert below(draw(keys, np.arange(8)), 97).tolist() == GOLDEN["below"]
    assert uniform(draw(keys, np.arange(2))).tolist() == GOLDEN["uniform"]
    assert permute(keys, np.arange(8), 1000).tolist() == GOLDEN["permute"]


def test_the_generator_is_the_published_one():
    """SplitMix64 seeded with 1234567: the first outputs of its authors' C program."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert draw(np.array([1234567], np.uint64), np.arange(3)).tolist() == expected
