import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.examples import order as module
from maskline.examples.order import Order, Ramp


def lengths_of(count):
    return 1 + np.arange(count) * 7 % 53


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 16)


def epoch_of(order, epoch):
    """Return the examples of each step of an epoch."""
    steps = range(epoch * order.batches_per_epoch, (epoch + 1) * order.batches_per_epoch)
    found = [order.positions(step) for step in steps]
    assert {number for number, _ in found} <= {epoch}
    return [order.at(epoch, positions) for _, positions in found]


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 9), st.integers(0, 2**63), st.integers(0, 5))
def test_an_epoch_sees_every_example_once(count, batch, seed, epoch):
    order = Order(lengths_of(count), batch, seed)
    steps = epoch_of(order, epoch)
    assert len(steps) == -(-count // batch)
    assert sorted(np.concatenate(steps).tolist()) == list(range(count))
    assert sorted(map(len, steps))[1:] == [batch] * (len(steps) - 1)


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 9), st.integers(2, 3))
def test_copies_stand_side_by_side(count, batch, copies):
    order = Order(lengths_of(count), batch, 0, copies=copies)
    positions = np.concatenate([order.positions(step)[1] for step in range(order.batches_per_epoch)])
    assert order.count == count * copies
    assert sorted(positions.tolist()) == list(range(count * copies))


def test_a_step_is_a_function_of_its_number():
    order = Order(lengths_of(1000), 3, 0)
    forwards = [epoch_of(order, epoch) for epoch in range(2)]
    backwards = [epoch_of(Order(lengths_of(1000), 3, 0), epoch) for epoch in (1, 0)][::-1]
    for one, other in zip(forwards, backwards, strict=True):
        assert [step.tolist() for step in one] == [step.tolist() for step in other]
    assert [step.tolist() for step in forwards[0]] != [step.tolist() for step in forwards[1]]
    assert [step.tolist() for step in epoch_of(Order(lengths_of(1000), 3, 1), 0)] != [s.tolist() for s in forwards[0]]


def test_places_can_be_asked_for_in_any_order():
    order = Order(lengths_of(300), 8, 0, last=np.arange(300) % 5 == 0)
    places = np.random.default_rng(0).permutation(300)
    whole = order.at(2, np.arange(300))
    assert order.at(2, places).tolist() == whole[places].tolist()
    assert [int(order.at(2, np.array([place]))[0]) for place in range(300)] == whole.tolist()


def test_batches_hold_examples_of_nearly_one_length_in_no_order_of_length():
    order = Order(lengths_of(20_000), 32, 0)
    batches = [lengths_of(20_000)[rows] for rows in epoch_of(order, 0)]
    padded = sum(batch.max() * len(batch) for batch in batches)
    assert sum(batch.sum() for batch in batches) / padded > 0.97
    means = np.array([batch.mean() for batch in batches])
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.1


def test_who_stands_next_to_whom_changes_with_the_epoch():
    order = Order(lengths_of(640), 8, 0)
    neighbours = [
        {frozenset(pair) for pair in order.at(epoch, np.arange(640)).reshape(-1, 2).tolist()} for epoch in (0, 1)
    ]
    assert len(neighbours[0] & neighbours[1]) < 64


def test_the_last_come_after_all_others():
    last = np.arange(100) % 3 == 0
    order = Order(lengths_of(100), 8, 0, last=last)
    for epoch in range(5):
        assert last[order.at(epoch, np.arange(100))].tolist() == sorted(last.tolist())


def taken(ramp, updates):
    return [ramp.batches_before(step + 1) - ramp.batches_before(step) for step in range(updates)]


def test_a_ramp_grows_in_equal_steps_and_then_stays():
    assert taken(Ramp(4, 6), 9) == [1, 1, 2, 2, 3, 3, 4, 4, 4]
    assert taken(Ramp(3, 7), 9) == [1, 1, 1, 1, 2, 2, 2, 3, 3]
    assert taken(Ramp(8, 2), 4) == [1, 4, 8, 8]
    assert taken(Ramp(1, 5), 7) == [1] * 7


def test_without_a_ramp_an_update_is_a_batch():
    assert [Ramp(1, 0).batches_before(step) for step in (0, 1, 7, 10**9)] == [0, 1, 7, 10**9]
    assert [Ramp(1, 0).updates_for(batches) for batches in (0, 1, 7, 10**9)] == [0, 1, 7, 10**9]


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 40), st.integers(0, 300))
def test_a_ramp_takes_one_batch_after_the_other(most, steps, batches):
    ramp = Ramp(most, steps)
    assert taken(ramp, steps + 5) == [
        1 + (most - 1) * step // steps if step < steps else most for step in range(steps + 5)
    ]
    assert ramp.batches_before(0) == 0
    updates = ramp.updates_for(batches)
    assert ramp.batches_before(updates) >= batches
    assert updates == 0 or ramp.batches_before(updates - 1) < batches


def test_no_epoch_has_the_order_of_batches_of_another():
    order = Order(lengths_of(640), 8, 0)
    places = [
        [int(order.positions(epoch * 80 + step)[1][0]) for step in range(order.batches_per_epoch)] for epoch in range(3)
    ]
    assert places[0] != places[1] != places[2] != places[0]
    assert sorted(places[0]) == sorted(places[1]) == sorted(places[2])


def test_blocks_begin_elsewhere_in_each_epoch():
    """Else an example would meet the same few others again and again: it never left the places of its block."""
    order = Order(lengths_of(640), 8, 0)
    places = [order.at(epoch, np.arange(640)).tolist().index(320) for epoch in range(30)]
    assert max(places) - min(places) >= 16
