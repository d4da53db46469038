import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.examples.batches import PretrainingBatches, by_length, shares
from maskline.examples.masking import Masker
from maskline.examples.pairs import IGNORE, PairSource
from maskline.examples.shards import TokenShards
from maskline.params import MaskingRates
from tests.tiny import SPECIAL, VOCAB_SIZE, random_documents, write_shards

RATE = 0.15


@pytest.fixture(name="build", scope="module")
def _build(tmp_path_factory):
    directory = write_shards(tmp_path_factory.mktemp("shards") / "tokens", random_documents(120), shard_tokens=700)

    def build(seed=0, global_batch=10, *, nsp=True):
        source = PairSource(TokenShards(directory), 24, nsp=nsp)
        masker = Masker(MaskingRates(rate=RATE, mask=0.8, random=0.1), SPECIAL, VOCAB_SIZE)
        return PretrainingBatches(source, masker, SPECIAL, seed=seed, global_batch=global_batch)

    return build


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 5))
def test_processes_and_microbatches_partition_the_step(count, micro_batch, ranks):
    parts = [list(shares(count, micro_batch, rank, ranks)) for rank in range(ranks)]
    # Microbatch k goes to process k mod ranks: this is what the noise of each is keyed by.
    taken = [parts[k % ranks][k // ranks] for k in range(sum(map(len, parts)))]
    assert np.concatenate([np.arange(count)[part] for part in taken]).tolist() == list(range(count))
    assert all(0 < len(range(count)[part]) <= micro_batch for part in taken)


@pytest.mark.parametrize("nsp", [True, False])
def test_a_batch_holds_what_its_fields_say(build, nsp):
    batches = build(nsp=nsp)
    for step in range(batches.order.steps_per_epoch):
        (batch,) = batches.microbatches(step, RATE, 10)
        _, segments = batches.examples(step)
        original = batch.input_ids.copy()
        original.ravel()[batch.masked_positions] = batch.masked_labels
        assert batch.input_ids.shape == (len(segments), segments.sizes.max())
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
        assert (np.bincount(batch.masked_positions // original.shape[1], minlength=len(segments)) >= 1).all()


def by_example(batches, step, micro_batch, ranks=1):
    """Return every example of a step on its own: ids without padding, picks, labels."""
    found = {}
    _, segments = batches.examples(step)
    for rank in range(ranks):
        parts = shares(len(segments), micro_batch, rank, ranks)
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
    steps = batches.order.steps_per_epoch
    return {k: v for step in range(steps) for k, v in by_example(batches, epoch * steps + step, micro_batch).items()}


def test_an_example_is_the_same_however_the_step_is_cut(build):
    batches = build()
    for step in (0, 5, batches.order.steps_per_epoch - 1, batches.order.steps_per_epoch + 2):
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


def test_an_example_differs_between_epochs_and_seeds(build):
    first, second, other = epoch_of(build(), 0), epoch_of(build(), 1), epoch_of(build(seed=1), 0)
    assert first.keys() == second.keys() == other.keys()
    for another in (second, other):
        same = sum(first[number] == another[number] for number in first)
        assert same < len(first) / 5  # examples of one or two tokens can hardly differ


def test_pairs_are_sorted_by_length_within_a_step(build):
    batches = build()
    for step in range(batches.order.steps_per_epoch):
        sizes = batches.examples(step)[1].sizes.tolist()
        assert sizes == sorted(sizes)


@settings(deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=50), st.integers(1, 9))
def test_a_fixed_set_is_read_once_from_short_to_long(lengths, size):
    rows = list(by_length(np.array(lengths), size))
    assert sorted(np.concatenate(rows).tolist()) == list(range(len(lengths)))
    assert [lengths[row] for part in rows for row in part] == sorted(lengths)
    assert [len(part) for part in rows[:-1]] == [size] * (len(rows) - 1)
