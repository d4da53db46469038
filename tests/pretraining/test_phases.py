import weakref

import numpy as np
import pytest

from maskline.examples.batches import PretrainingBatches
from maskline.examples.masking import Masker
from maskline.examples.pairs import PairSource
from maskline.pretraining.phases import Phases
from maskline.shards.store import TokenShards
from tests.tiny import SPECIAL, VOCAB_SIZE, random_documents, tiny_params, write_shards

RATE = 0.15
SHORT, LONG = 24, 48


@pytest.fixture(name="shards", scope="module")
def _shards(tmp_path_factory):
    directory = tmp_path_factory.mktemp("shards") / "tokens"
    return TokenShards(write_shards(directory, random_documents(120, sentences=9), shard_tokens=700))


class Cutter:
    """What makes the batches of one length, and knows which were made and how many are left."""

    def __init__(self, shards, *, nsp=True):
        self.shards = shards
        self.nsp = nsp
        self.lengths = []
        self.alive = weakref.WeakSet()
        self.most = 0

    def __call__(self, length):
        masker = Masker(tiny_params().masking, SPECIAL, VOCAB_SIZE)
        source = PairSource(self.shards, length, nsp=self.nsp)
        batches = PretrainingBatches(source, masker, SPECIAL, seed=length, global_batch=6)
        self.lengths.append(length)
        self.alive.add(batches.order)
        self.most = max(self.most, len(self.alive))
        return batches


def recipe(**changes):
    changes = {"final_seq_length": LONG, "final_share": 0.25} | changes
    return tiny_params({"model.max_positions": LONG} | {f"pretrain.{k}": v for k, v in changes.items()}).pretrain


def same_batches(ones, others):
    for one, other in zip(ones, others, strict=True):
        for name, value in vars(one).items():
            np.testing.assert_array_equal(value, getattr(other, name))


@pytest.mark.parametrize("nsp", [True, False])
def test_an_update_is_the_one_of_its_length(shards, nsp):
    cut = Cutter(shards, nsp=nsp)
    phases, short, long = Phases(cut, recipe()), cut(SHORT), cut(LONG)
    assert phases.switch == 9
    for step in (0, 11, 8, 9, 3, 10):  # in whatever order
        expected = short.microbatches(step, RATE, 4) if step < 9 else long.microbatches(step - 9, RATE, 2)
        same_batches(phases.microbatches(step, RATE, 4), expected)
        found, _ = phases.segments_and_keys(step)
        wanted, _ = short.segments_and_keys(step) if step < 9 else long.segments_and_keys(step - 9)
        assert found.numbers.tolist() == wanted.numbers.tolist()
    sizes = [max(phases.segments_and_keys(step)[0].sizes) for step in range(12)]
    assert max(sizes[:9]) <= SHORT < max(sizes[9:]) <= LONG


def test_processes_share_an_update_of_either_length(shards):
    phases = Phases(Cutter(shards), recipe())
    for step in (0, 8, 9, 11):
        whole = phases.microbatches(step, RATE, 2)
        parts = [phases.microbatches(step, RATE, 2, rank, 2) for rank in range(2)]
        same_batches([parts[number % 2][number // 2] for number in range(len(whole))], whole)
        assert max(len(batch.input_ids) for batch in whole) == (2 if step < 9 else 1)
    assert len(phases.microbatches(11, RATE, 1)) == 6  # one example at a time is the least


def test_the_windows_of_one_length_alone_are_in_memory(shards):
    cut = Cutter(shards)
    phases = Phases(cut, recipe())
    assert cut.lengths == [LONG, SHORT]
    for step in range(12):
        phases.microbatches(step, RATE, 4)
        phases.epochs(step + 1)
    assert cut.lengths == [LONG, SHORT, LONG]
    assert (len(cut.alive), cut.most) == (1, 1)


@pytest.mark.parametrize(
    ("first", "steps", "expected"),
    [
        (0, 12, [(SHORT, range(9)), (LONG, range(9, 12))]),
        (8, 12, [(SHORT, range(8, 9)), (LONG, range(9, 12))]),
        (9, 12, [(LONG, range(9, 12))]),
        (11, 12, [(LONG, range(11, 12))]),
        (12, 12, []),
    ],
)
def test_the_updates_of_one_length_are_a_range_and_their_windows_are_there(shards, first, steps, expected):
    cut = Cutter(shards)
    phases = Phases(cut, recipe())
    found = []
    for updates in phases.update_ranges(first, steps):
        found.append((cut.lengths[-1], updates))
        made = len(cut.lengths)
        for step in updates:
            phases.microbatches(step, RATE, 4)
        assert len(cut.lengths) == made
    assert found == expected


def test_epochs_of_both_lengths_add_up(shards):
    cut = Cutter(shards)
    phases, short, long = Phases(cut, recipe()), cut(SHORT), cut(LONG)
    assert long.order.batches_per_epoch < short.order.batches_per_epoch
    for step in range(13):
        expected = min(step, 9) / short.order.batches_per_epoch + max(0, step - 9) / long.order.batches_per_epoch
        assert phases.epochs(step) == pytest.approx(expected)
    assert phases.counts == [short.source.counts, long.source.counts]


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_run_that_is_counted_in_epochs_has_its_share_of_longer_ones(shards, epochs):
    counted = recipe(steps=None, epochs=epochs)
    phases = Phases(Cutter(shards), counted)
    steps = phases.updates(epochs)
    assert phases.switch == counted.lengthens_at(steps) == steps - round(0.25 * steps)
    assert phases.epochs(steps - 1) < epochs <= phases.epochs(steps)
