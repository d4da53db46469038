from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.examples import batches as module
from maskline.examples.batches import GroupedOrder, PretrainingBatches, by_length
from maskline.examples.masking import Masker
from maskline.examples.pairs import IGNORE, IS_NEXT, PairSource
from maskline.examples.shards import TokenShards
from maskline.params import MaskingRates
from tests.tiny import SPECIAL, VOCAB_SIZE, random_documents, write_shards

FIELDS = (
    "input_ids",
    "token_type_ids",
    "attention_mask",
    "masked_positions",
    "masked_labels",
    "next_sentence_label",
)


def sizes(epoch, indices):
    return 1 + indices * 7 % 53


def order(count, batch, seed=0):
    return GroupedOrder(count, batch, seed, sizes)


@pytest.fixture(name="build", scope="module")
def _build(tmp_path_factory):
    directory = write_shards(tmp_path_factory.mktemp("shards") / "tokens", random_documents(120), shard_tokens=700)

    def build(seed=0, global_batch=10, *, nsp=True):
        source = PairSource(TokenShards(directory), 24, nsp=nsp)
        masker = Masker(MaskingRates(rate=0.15, mask=0.8, random=0.1), SPECIAL, VOCAB_SIZE)
        return PretrainingBatches(source, masker, SPECIAL, seed=seed, global_batch=global_batch)

    return build


@settings(deadline=None)
@given(st.integers(1, 1000), st.integers(1, 9), st.integers(0, 2**63), st.integers(0, 5))
def test_an_epoch_sees_every_example_once(count, batch, seed, epoch):
    examples = order(count, batch, seed)
    steps = examples.steps_per_epoch
    assert steps == -(-count // batch)
    drawn = [examples.indices(epoch * steps + step) for step in range(steps)]
    assert {number for number, _ in drawn} == {epoch}
    assert sorted(np.concatenate([indices for _, indices in drawn]).tolist()) == list(range(count))
    assert sorted(len(indices) for _, indices in drawn)[1:] == [batch] * (steps - 1)


def test_a_step_is_a_function_of_its_number():
    examples = order(1000, 3)
    forwards = [examples.indices(step)[1].tolist() for step in range(700)]
    assert [order(1000, 3).indices(step)[1].tolist() for step in reversed(range(700))] == forwards[::-1]
    assert forwards[:334] != forwards[334:668]  # another epoch is another order
    assert [order(1000, 3, seed=1).indices(step)[1].tolist() for step in range(334)] != forwards[:334]


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 9), st.integers(1, 5))
def test_processes_and_microbatches_partition_the_step(count, batch, micro_batch, ranks):
    examples = order(count, batch)
    for step in range(min(examples.steps_per_epoch, 4)):
        shares = [examples.share(step, micro_batch, rank, ranks)[1] for rank in range(ranks)]
        assert all(0 < len(part) <= micro_batch for parts in shares for part in parts)
        # Microbatch k goes to process k mod ranks: this is what the noise of each is keyed by.
        parts = [shares[k % ranks][k // ranks] for k in range(sum(map(len, shares)))]
        assert np.concatenate(parts).tolist() == examples.indices(step)[1].tolist()


def test_batches_hold_examples_of_nearly_one_length_in_no_order_of_length():
    examples = order(20_000, 32)
    batches = [sizes(0, examples.indices(step)[1]) for step in range(examples.steps_per_epoch)]
    padded = sum(batch.max() * len(batch) for batch in batches)
    assert sum(batch.sum() for batch in batches) / padded > 0.97
    means = np.array([batch.mean() for batch in batches])
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) < 0.1


def test_pools_do_not_change_what_an_epoch_holds(monkeypatch):
    counts = []
    for pool in (1, 3, 1000):
        monkeypatch.setattr(module, "POOL_BATCHES", pool)
        examples = order(100, 7)
        counts.append(Counter(int(i) for step in range(15) for i in examples.indices(step)[1]))
    assert counts == [Counter(range(100))] * 3


@pytest.mark.parametrize("nsp", [True, False])
def test_a_batch_holds_what_its_fields_say(build, nsp):
    batches = build(nsp=nsp)
    for step in range(batches.order.steps_per_epoch):
        (batch,) = batches.microbatches(step, 10)
        epoch, indices = batches.order.indices(step)
        segments = batches._segments(epoch, indices)
        original = batch.input_ids.copy()
        original.ravel()[batch.masked_positions] = batch.masked_labels
        assert batch.input_ids.shape == (len(indices), segments.sizes.max())
        assert batch.tokens == segments.sizes.sum()
        texts = batches.source.gather(segments.starts.ravel(), segments.lengths.ravel())
        for row, size in enumerate(segments.sizes.tolist()):
            a, b = texts[2 * row].tolist(), texts[2 * row + 1].tolist()
            expected = [2, *a, 3, *b, 3] if b else [2, *a, 3]
            padding = [0] * (batch.input_ids.shape[1] - size)
            assert original[row].tolist() == expected + padding
            assert batch.token_type_ids[row].tolist() == [0] * (len(a) + 2) + [1] * (len(b) + 1) * bool(b) + padding
            assert batch.attention_mask[row].tolist() == [True] * size + [False] * len(padding)
            assert (batch.next_sentence_label[row] == IGNORE) == (not b)
        assert batch.attention_mask.ravel()[batch.masked_positions].all()
        assert (original.ravel()[batch.masked_positions] >= 5).all()
        assert (np.bincount(batch.masked_positions // original.shape[1], minlength=len(indices)) >= 1).all()


def by_example(batches, step, micro_batch, ranks=1):
    """Return every example of a step on its own: ids without padding, picks, labels."""
    found = {}
    epoch = batches.order.indices(step)[0]
    for rank in range(ranks):
        parts = batches.order.share(step, micro_batch, rank, ranks)[1]
        for part, batch in zip(parts, batches.microbatches(step, micro_batch, rank, ranks), strict=True):
            rows, places = np.divmod(batch.masked_positions, batch.input_ids.shape[1])
            for row, index in enumerate(part.tolist()):
                found[index] = (
                    batch.input_ids[row][batch.attention_mask[row]].tolist(),
                    places[rows == row].tolist(),
                    batch.masked_labels[rows == row].tolist(),
                    int(batch.next_sentence_label[row]),
                )
    return epoch, found


def test_an_example_is_the_same_however_the_step_is_cut(build):
    batches = build()
    for step in (0, 5, batches.order.steps_per_epoch - 1, batches.order.steps_per_epoch + 2):
        whole = by_example(batches, step, 10)
        assert len(whole[1]) == len(batches.order.indices(step)[1])
        for micro_batch, ranks in ((1, 1), (4, 1), (3, 2), (2, 5), (10, 3)):
            assert by_example(build(), step, micro_batch, ranks) == whole


def test_an_example_differs_between_epochs_and_seeds(build):
    batches = build()
    steps = batches.order.steps_per_epoch

    def examples(batches, epoch):
        return dict(item for step in range(steps) for item in by_example(batches, epoch * steps + step, 10)[1].items())

    first, second, other = examples(batches, 0), examples(batches, 1), examples(build(seed=1), 0)
    assert len(first) == len(second) == len(batches.source)
    for another in (second, other):
        same = sum(first[index] == another[index] for index in first)
        assert same < len(first) / 5  # examples of one or two tokens can hardly differ
    labels = [sum(example[3] == IS_NEXT for example in epoch.values()) for epoch in (first, second, other)]
    assert len(set(labels)) > 1


@settings(deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=50), st.integers(1, 9))
def test_a_fixed_set_is_read_once_from_short_to_long(lengths, size):
    rows = list(by_length(np.array(lengths), size))
    assert sorted(np.concatenate(rows).tolist()) == list(range(len(lengths)))
    assert [lengths[row] for part in rows for row in part] == sorted(lengths)
    assert [len(part) for part in rows[:-1]] == [size] * (len(rows) - 1)
