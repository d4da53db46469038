import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.core.labels import IGNORE_INDEX
from maskline.examples.batches import PretrainingBatches, by_length, microbatch_slices
from maskline.examples.masking import Masker
from maskline.examples.pairs import PairSource
from maskline.examples.settings import MaskingRates
from maskline.shards.store import TokenShards
from tests.tiny import SPECIAL, VOCAB_SIZE, random_documents, write_shards

RATE = 0.15


@pytest.fixture(name="build", scope="module")
def _build(tmp_path_factory):
    directory = write_shards(tmp_path_factory.mktemp("shards") / "tokens", random_documents(120), shard_tokens=700)

    def build(seed=0, global_batch=10, *, nsp=True, **ramp):
        source = PairSource(TokenShards(directory), 24, nsp=nsp)
        masker = Masker(MaskingRates(rate=RATE, mask=0.8, random=0.1), SPECIAL, VOCAB_SIZE)
        return PretrainingBatches(source, masker, SPECIAL, seed=seed, global_batch=global_batch, **ramp)

    return build


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 5))
def test_processes_and_microbatches_partition_the_step(count, micro_batch, ranks):
    parts = [list(microbatch_slices(count, micro_batch, rank, ranks)) for rank in range(ranks)]
    # Microbatch k goes to process k mod ranks: this is what the noise of each is keyed by.
    taken = [parts[k % ranks][k // ranks] for k in range(sum(map(len, parts)))]
    assert np.concatenate([np.arange(count)[part] for part in taken]).tolist() == list(range(count))
    assert all(0 < len(range(count)[part]) <= micro_batch for part in taken)


@pytest.mark.parametrize("nsp", [True, False])
def test_a_batch_holds_what_its_fields_say(build, nsp):
    batches = build(nsp=nsp)
    for step in range(batches.order.batches_per_epoch):
        (batch,) = batches.microbatches(step, RATE, 10)
        segments, _ = batches.segments_and_keys(step)
        original = batch.input_ids.copy()
        original.ravel()[batch.masked_positions] = batch.masked_labels
        assert batch.input_ids.shape == (len(segments), segments.sizes.max())
        assert batch.tokens == segments.sizes.sum()
        texts = batches.source.tokens_of(segments.starts.ravel(), segments.lengths.ravel())
        for row, size in enumerate(segments.sizes.tolist()):
            a, b = texts[2 * row].tolist(), texts[2 * row + 1].tolist()
            expected = [2, *a, 3, *b, 3] if b else [2, *a, 3]
            padding = [0] * (batch.input_ids.shape[1] - size)
            assert original[row].tolist() == expected + padding
            assert batch.token_type_ids[row].tolist() == [0] * (len(a) + 2) + [1] * (len(b) + 1) * bool(b) + padding
            assert batch.attention_mask[row].tolist() == [True] * size + [False] * len(padding)
            assert (batch.next_sentence_label[row] == IGNORE_INDEX) == (not b)
        assert batch.attention_mask.ravel()[batch.masked_positions].all()
        assert (original.ravel()[batch.masked_positions] >= 5).all()
        assert (np.bincount(batch.masked_positions // original.shape[1], minlength=len(segments)) >= 1).all()


def by_example(batches, step, micro_batch, ranks=1):
    """Return every example of a step on its own: ids without padding, picks, labels."""
    found = {}
    segments, _ = batches.segments_and_keys(step)
    for rank in range(ranks):
        parts = microbatch_slices(len(segments), micro_batch, rank, ranks)
        for part, batch in zip(parts, batches.microbatches(step, RATE, micro_batch, rank, ranks), strict=True):
            rows, places = np.divmod(batch.masked_positions, batch.input_ids.shape[1])
            for row, number in enumerate(segments.numbers[part].tolist()):
                found[number] = (
                    batch.input_ids[row][batch.attention_mask[row]].tolist(),
                    places[rows == row].tolist(),
                    batch.masked_labels[rows == row].tolist(),
                    int(batch.next_sentence_label[row]),
                )
    return found


def epoch_of(batches, epoch, micro_batch=10):
    steps = batches.order.batches_per_epoch
    return {k: v for step in range(steps) for k, v in by_example(batches, epoch * steps + step, micro_batch).items()}


def test_an_example_is_the_same_however_the_step_is_cut(build):
    batches = build()
    for step in (0, 5, batches.order.batches_per_epoch - 1, batches.order.batches_per_epoch + 2):
        whole = by_example(batches, step, 10)
        assert len(whole) == len(batches.order.positions(step)[1])
        for micro_batch, ranks in ((1, 1), (4, 1), (3, 2), (2, 5), (10, 3)):
            assert by_example(build(), step, micro_batch, ranks) == whole


@pytest.mark.parametrize("nsp", [True, False])
def test_an_example_does_not_depend_on_the_batch_size(build, nsp):
    whole = epoch_of(build(nsp=nsp), 1)
    assert len(whole) == build(nsp=nsp).order.count
    for global_batch in (1, 7, 1000):
        assert epoch_of(build(global_batch=global_batch, nsp=nsp), 1, 1000) == whole


@pytest.mark.parametrize("nsp", [True, False])
def test_a_growing_batch_takes_the_parts_of_a_small_one_in_their_order(build, nsp):
    small, growing = build(global_batch=4, nsp=nsp), build(global_batch=12, nsp=nsp, initial_batch=4, ramp_steps=6)
    parts = 0
    for step in range(small.order.batches_per_epoch):  # more than one epoch: some updates take from two
        count = 1 + 2 * step // 6 if step < 6 else 3
        expected = [
            number for part in range(count) for number in small.segments_and_keys(parts + part)[0].numbers.tolist()
        ]
        assert growing.epochs(step) == small.epochs(parts)
        segments, keys = growing.segments_and_keys(step)
        assert sorted(segments.numbers.tolist()) == sorted(expected)
        assert segments.sizes.tolist() == sorted(segments.sizes.tolist())
        of_parts = [small.segments_and_keys(parts + part) for part in range(count)]
        pairs = {(n, k) for part, keys in of_parts for n, k in zip(part.numbers.tolist(), keys.tolist(), strict=True)}
        assert set(zip(segments.numbers.tolist(), keys.tolist(), strict=True)) == pairs
        parts += count
    assert growing.epochs(small.order.batches_per_epoch) > 2


def test_a_growing_batch_is_the_same_however_it_is_cut(build):
    ramp = {"global_batch": 12, "initial_batch": 3, "ramp_steps": 5}
    for step in (0, 2, 5, 9):
        whole = by_example(build(**ramp), step, 12)
        assert len(whole) == 3 * (1 + 3 * min(step, 5) // 5)
        for micro_batch, ranks in ((1, 1), (4, 2), (5, 3)):
            assert by_example(build(**ramp), step, micro_batch, ranks) == whole


def test_a_batch_that_grows_to_what_it_is_changes_nothing(build):
    plain, ramped = build(), build(initial_batch=10, ramp_steps=7)
    for step in (0, 5, plain.order.batches_per_epoch):
        assert by_example(plain, step, 10) == by_example(ramped, step, 10)


def test_epochs_are_counted_in_examples(build):
    ramped = build(global_batch=12, initial_batch=4, ramp_steps=10)
    updates = ramped.updates(2)
    assert updates < 2 * ramped.order.batches_per_epoch
    assert ramped.epochs(updates - 1) < 2 <= ramped.epochs(updates)
    seen = [number for step in range(updates) for number in ramped.segments_and_keys(step)[0].numbers.tolist()]
    assert 2 * ramped.order.count <= len(seen) < 2 * ramped.order.count + 12
    assert set(seen) == set(range(len(set(seen))))


def test_an_example_differs_between_epochs_and_seeds(build):
    first, second, other = epoch_of(build(), 0), epoch_of(build(), 1), epoch_of(build(seed=1), 0)
    assert first.keys() == second.keys() == other.keys()
    for another in (second, other):
        same = sum(first[number] == another[number] for number in first)
        assert same < len(first) / 5  # examples of one or two tokens can hardly differ


def test_pairs_are_sorted_by_length_within_a_step(build):
    batches = build()
    for step in range(batches.order.batches_per_epoch):
        sizes = batches.segments_and_keys(step)[0].sizes.tolist()
        assert sizes == sorted(sizes)


@settings(deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=50), st.integers(1, 90))
def test_a_fixed_set_is_read_once_from_short_to_long(lengths, batch_tokens):
    rows = list(by_length(np.array(lengths), batch_tokens))
    assert sorted(np.concatenate(rows).tolist()) == list(range(len(lengths)))
    assert [lengths[row] for part in rows for row in part] == sorted(lengths)
    for part, following in zip(rows, [*rows[1:], None], strict=True):
        longest = max(lengths[row] for row in part)
        assert len(part) == 1 or len(part) * longest <= batch_tokens
        if following is not None:  # no more would have fitted
            assert (len(part) + 1) * lengths[following[0]] > batch_tokens
