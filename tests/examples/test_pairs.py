import random
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.core.labels import IGNORE_INDEX
from maskline.examples.order import Order
from maskline.examples.pairs import IS_NEXT, RANDOM, PairSource
from maskline.shards.store import TokenShards
from tests.tiny import random_documents, write_shards

EPOCHS = 24


class Corpus:
    """Documents of the given sentence lengths in which every token is a number of its own."""

    def __init__(self, lengths, max_seq_length=16, *, nsp=True, shard_tokens=10**6):
        numbers = iter(range(10**6))
        documents = [[[next(numbers) for _ in range(length)] for length in document] for document in lengths]
        self.tokens = next(numbers)
        self.document_of = np.repeat(np.arange(len(lengths)), [sum(document) for document in lengths])
        with tempfile.TemporaryDirectory() as folder:
            write_shards(Path(folder) / "shards", documents, shard_tokens, vocab_size=self.tokens + 1)
            self.source = PairSource(TokenShards(Path(folder) / "shards"), max_seq_length, nsp=nsp)

    def examples(self, epoch=0):
        """Return (tokens of A, tokens of B, label) of every example."""
        copies = 2 if self.source.nsp else 1
        order = Order(self.source.lengths, 8, 0, copies=copies, last=self.source.without_pair)
        positions = np.arange(order.count)
        is_random = positions % 2 == 1 if self.source.nsp else np.zeros(len(positions), bool)
        segments = self.source.segments_at(order, epoch, positions // copies, is_random)
        assert len({*segments.numbers.tolist()}) == len(segments)
        a, b = (self.source.tokens_of(segments.starts[:, side], segments.lengths[:, side]) for side in (0, 1))
        labels = segments.next_sentence_label.tolist()
        return [(first.tolist(), second.tolist(), label) for first, second, label in zip(a, b, labels, strict=True)]

    def without_pair(self):
        """Return the tokens of the windows that have no pair to give."""
        found = self.source.unpaired(np.flatnonzero(self.source.without_pair))
        return self.source.tokens_of(found.starts[:, 0], found.lengths[:, 0])


def is_run(tokens):
    return tokens == list(range(tokens[0], tokens[0] + len(tokens)))


LENGTHS = st.integers(1, 6) | st.sampled_from([13, 14, 40, 301])
CORPORA = st.lists(st.lists(LENGTHS, min_size=1, max_size=7), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(CORPORA, st.integers(8, 32))
def test_pairs_are_honest_whatever_the_corpus(lengths, max_seq_length):
    corpus = Corpus(lengths, max_seq_length)
    seen = set()
    for epoch in range(EPOCHS):
        for a, b, label in corpus.examples(epoch):
            assert a
            assert len(a) + len(b) + (3 if b else 2) <= max_seq_length
            assert all(is_run(segment) and len({*corpus.document_of[segment]}) == 1 for segment in (a, b) if segment)
            if label == IGNORE_INDEX:
                assert not b
            else:
                assert b
                assert (label == IS_NEXT) == (corpus.document_of[a[0]] == corpus.document_of[b[0]])
            if label == IS_NEXT:
                assert b[0] == a[-1] + 1
            seen |= {*a, *b} if label == IGNORE_INDEX else {a[-1], b[0]}
    # Windows without a pair are whole; of the others at least what stands on both sides of a split is seen.
    assert seen <= set(range(corpus.tokens))
    assert seen >= {token for window in corpus.without_pair() for token in window}


@settings(deadline=None, max_examples=60)
@given(CORPORA, st.integers(8, 32))
def test_single_segments_hold_every_token_once(lengths, max_seq_length):
    corpus = Corpus(lengths, max_seq_length, nsp=False)
    tokens = []
    for a, b, label in corpus.examples():
        assert (b, label) == ([], IGNORE_INDEX)
        assert 0 < len(a) <= max_seq_length - 2
        assert len({*corpus.document_of[a]}) == 1
        tokens += a
    assert sorted(tokens) == list(range(corpus.tokens))
    assert corpus.source.counts["windows_without_pair"] == 0


@settings(deadline=None, max_examples=40)
@given(CORPORA, st.integers(8, 32), st.integers(1, 40), st.booleans())
def test_shards_are_only_files(lengths, max_seq_length, shard_tokens, nsp):
    whole = Corpus(lengths, max_seq_length, nsp=nsp)
    cut = Corpus(lengths, max_seq_length, nsp=nsp, shard_tokens=shard_tokens)
    assert whole.source.counts == cut.source.counts
    assert all(whole.examples(epoch) == cut.examples(epoch) for epoch in range(3))


def test_windows_are_as_long_as_fits_and_share_a_sentence_only_where_they_must():
    # 16 tokens hold 13 of text with a pair's three special tokens.
    corpus = Corpus([[3, 4, 5, 2, 6], [5, 5, 5], [13], [6, 6, 1]])
    whole = corpus.source.unpaired(np.arange(len(corpus.source)))
    runs = sorted(zip(whole.starts[:, 0].tolist(), (whole.starts[:, 0] + whole.lengths[:, 0]).tolist(), strict=True))
    assert runs == [(0, 12), (12, 20), (20, 30), (25, 35), (35, 48), (48, 61)]
    assert corpus.source.counts == {"windows": 6, "windows_without_pair": 0, "sentences_cut": 1}


def test_a_true_pair_is_split_at_any_of_its_sentences():
    corpus = Corpus([[1, 2, 3, 4], [5, 5]])
    splits = {
        a[-1] + 1 for epoch in range(60) for a, _, label in corpus.examples(epoch) if label == IS_NEXT and a[0] < 10
    }
    assert splits == {1, 3, 6}


def test_each_segment_is_once_in_a_true_pair_and_once_in_a_random_one():
    corpus = Corpus([[3, 4, 5], [4, 4, 4, 1], [2, 9]] * 300, 32)
    for epoch in range(3):
        pairs = [(tuple(a), tuple(b), label) for a, b, label in corpus.examples(epoch)]
        true, random = ([pair for pair in pairs if pair[2] == label] for label in (IS_NEXT, RANDOM))
        assert len(true) == len(random) == 900
        for side in (0, 1):
            assert sorted(pair[side] for pair in true) == sorted(pair[side] for pair in random)


def test_windows_meet_others_in_the_next_epoch():
    corpus = Corpus([[3, 4, 5]] * 200, 32)
    met = [{(a[0], b[0]) for a, b, label in corpus.examples(epoch) if label == RANDOM} for epoch in range(2)]
    assert len(met[0]) == 200
    assert len(met[0] & met[1]) < 20


def test_windows_that_meet_are_split_alike():
    corpus = Corpus([[4] * 10] * 100, 64)
    lengths = np.array([len(a) for a, _, _ in corpus.examples()]).reshape(-1, 4)  # of the four examples of two windows
    assert (lengths == lengths[:, :1]).all()
    assert len(np.unique(lengths)) > 5


def test_a_random_segment_comes_from_any_window_of_the_other_documents():
    corpus = Corpus([[6, 6, 6, 6], [6, 6], [6, 6], [4]])
    owners = {number: [] for number in range(4)}
    for epoch in range(400):
        for a, b, label in corpus.examples(epoch):
            if label == RANDOM:
                owners[corpus.document_of[a[0]]].append(corpus.document_of[b[0]])
    assert set(owners[0]) == {1, 2}
    assert set(owners[1]) == {0, 2}
    assert np.mean(np.array(owners[1]) == 0) == pytest.approx(2 / 3, abs=0.08)  # two windows against one
    assert not owners[3]


def test_segments_are_cut_to_the_shorter_of_two_at_their_far_ends():
    corpus = Corpus([[1, 5, 6, 1], [2, 6, 3]], 16)  # a window of 13 tokens and one of 11
    shapes = set()
    for epoch in range(EPOCHS):
        pairs = list(corpus.examples(epoch))
        splits = {0: {a[-1] + 1 for a, _, _ in pairs if a[0] < 13}, 13: {a[-1] + 1 for a, _, _ in pairs if a[0] >= 13}}
        (first,), (second,) = splits[0], splits[13]
        assert first in {1, 6, 12}
        assert second in {15, 21}
        kept = min(first, second - 13), min(13 - first, 24 - second)
        for a, b, _ in pairs:
            assert (len(a), len(b)) == kept
            assert b[0] in {first, second}
        shapes.add(kept)
    assert shapes == {(1, 9), (6, 3), (8, 1)}


@pytest.mark.parametrize("max_seq_length", [16, 32, 64])
def test_both_labels_have_the_same_lengths(max_seq_length):
    draw = random.Random(0)
    corpus = Corpus([[draw.randint(1, 30) for _ in range(draw.randint(2, 9))] for _ in range(300)], max_seq_length)
    for epoch in range(3):
        of_label = {IS_NEXT: [], RANDOM: []}
        for a, b, label in corpus.examples(epoch):
            if b:
                of_label[label].append((len(a), len(b)))
        assert len(of_label[IS_NEXT]) > 100
        assert sorted(of_label[IS_NEXT]) == sorted(of_label[RANDOM])


def test_one_huge_sentence_is_cut_into_even_pieces():
    corpus = Corpus([[600, 5], [10, 10]], 128)
    whole = corpus.source.unpaired(np.arange(len(corpus.source)))
    assert {len(a) + len(b) <= 125 for a, b, _ in corpus.examples()} == {True}
    assert whole.lengths.max() <= 125
    assert corpus.source.counts["sentences_cut"] == 1
    assert whole.lengths[whole.starts[:, 0] < 605, 0].min() >= 5 + 60


@pytest.mark.parametrize("lengths", [[[3, 4, 5]], [[4], [5], [6]], [[50]]])
def test_where_there_is_no_pair_there_is_no_label(lengths):
    corpus = Corpus(lengths)
    assert {label for epoch in range(EPOCHS) for *_, label in corpus.examples(epoch)} == {IGNORE_INDEX}
    assert corpus.source.counts["windows_without_pair"] == len(corpus.source)


def test_documents_of_one_sentence_are_counted_and_the_others_have_pairs():
    corpus = Corpus([[3], [3, 4], [5], [6, 6], [2]])
    assert corpus.source.counts == {"windows": 5, "windows_without_pair": 3, "sentences_cut": 0}
    for epoch in range(EPOCHS):
        labels = {(a[-1] + 1, label) for a, _, label in corpus.examples(epoch)}  # where A ends
        assert labels == {(3, IGNORE_INDEX), (15, IGNORE_INDEX), (29, IGNORE_INDEX)} | {
            (at, x) for at in (6, 21) for x in (IS_NEXT, RANDOM)
        }


def test_no_length_tells_the_label(tmp_path):
    shards = TokenShards(write_shards(tmp_path, random_documents(3000), shard_tokens=20_000))
    source = PairSource(shards, 48, nsp=True)
    order = Order(source.lengths, 8, 0, last=source.without_pair)
    places = np.arange(2 * len(source))
    segments = source.segments_at(order, 0, places // 2, places % 2 == 1)
    pairs = segments.next_sentence_label != IGNORE_INDEX
    random = segments.next_sentence_label[pairs] == RANDOM
    for lengths in (*segments.lengths[pairs].T, segments.lengths[pairs].sum(1)):
        accuracies = [np.mean((lengths >= threshold) == random) for threshold in range(49)]
        assert max(*accuracies, 1 - min(accuracies)) < 0.53


def test_an_example_does_not_depend_on_the_others():
    source = Corpus([[3, 4, 5], [2, 2, 2, 2], [6, 6, 6]]).source
    order = Order(source.lengths, 8, 0, last=source.without_pair)
    places, is_random = np.arange(len(source)), np.arange(len(source)) % 2 == 0
    together = source.segments_at(order, 0, places, is_random)
    for row in places:
        alone = source.segments_at(order, 0, places[[row]], is_random[[row]])
        for field in ("numbers", "starts", "lengths", "next_sentence_label"):
            assert getattr(alone, field).tolist() == getattr(together, field)[[row]].tolist()
        assert alone.sizes[0] == together.sizes[row]


@pytest.mark.parametrize("nsp", [True, False])
def test_the_tables_of_a_corpus_are_a_fraction_of_its_tokens(tmp_path, nsp):
    shards = TokenShards(write_shards(tmp_path, [[[9] * 25] * 10] * 400, shard_tokens=20_000))
    tracemalloc.start()
    source = PairSource(shards, 128, nsp=nsp)
    order = Order(source.lengths, 8, 0, last=source.without_pair)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert order.count == len(source) > 0
    assert kept < 0.35 * shards.manifest["tokens"]  # bytes
