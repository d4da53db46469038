"""Sentence pairs for next-sentence prediction (Devlin et al. 2019, sec. 3.1), drawn again in every epoch.

The corpus is cut once into *windows*. A window is a run of consecutive sentences of one document that fits into a
sequence. In an epoch every window has a partner: windows i and k, say. Each of the two is split at a sentence boundary
into the segments A and B. The two windows give four examples: the true pairs A_i B_i and A_k B_k, and the random pairs
A_i B_k and A_k B_i.

BERT draws a random B for half of the examples. Here the same segments stand in the true pairs and in the random pairs,
so one segment alone says nothing about the label, and the noise that it would add to the gradient cancels. Both windows
are cut to the shorter A and to the shorter B of the two, so lengths say nothing either. Partners have nearly one length
and are split at nearly the same place, so that little is cut off.

There is no pair where a window is a single sentence, or where both windows are of one document, which can give no
random pair. Such windows are examples of one segment, without a label.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.core.labels import IGNORE_INDEX
from maskline.examples.draws import Bits, below, draw, key
from maskline.examples.order import Order
from maskline.shards.store import Shard, TokenShards

IS_NEXT, RANDOM = 0, 1
"""Labels of sentence pairs; an example without a pair has `IGNORE_INDEX`."""


@dataclass(frozen=True)
class Segments:
    """Where the tokens of N examples lie. An example of one segment has an empty B."""

    numbers: NDArray[np.int64]
    """(N,) the number of each example, unique within its epoch."""
    starts: NDArray[np.int64]
    """(N, 2) the first token of A and of B, counted over all shards."""
    lengths: NDArray[np.int64]
    """(N, 2) tokens of A and of B."""
    next_sentence_label: NDArray[np.int64]
    """(N,) IS_NEXT, RANDOM or IGNORE_INDEX."""

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: NDArray[np.int64] | slice) -> "Segments":
        return Segments(self.numbers[rows], self.starts[rows], self.lengths[rows], self.next_sentence_label[rows])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(N,) tokens of each example, [CLS] and [SEP] included."""
        sizes: NDArray[np.int64] = self.lengths.sum(1) + 2 + (self.lengths[:, 1] > 0)
        return sizes


def join(parts: list[Segments]) -> Segments:
    """Return the examples of all parts."""
    columns = ("numbers", "starts", "lengths", "next_sentence_label")
    return Segments(*(np.concatenate([getattr(part, column) for part in parts]) for column in columns))


class PairSource:
    """The W windows of one split, and the examples that they give.

    Attributes:
        lengths: (W,) tokens of each window.
        without_pair: (W,) bool, True = the window cannot be split, or there is no window of another document.
        counts: windows, windows without a pair, and sentences that were cut because they are longer than half a pair.
    """

    def __init__(self, shards: TokenShards, max_seq_length: int, *, nsp: bool) -> None:
        """Cut `shards` into windows of at most `max_seq_length` tokens, special tokens included."""
        self.nsp = nsp
        self.limit = max_seq_length - (3 if nsp else 2)
        self._tokens = [shard.tokens for shard in shards]
        self._bases = _offsets([len(tokens) for tokens in self._tokens])
        parts = [_windows(shard, self.limit, nsp=nsp) for shard in shards]
        # Token positions, over all shards, at which a window may be split. These tables grow with the corpus, so each
        # has the smallest dtype.
        self._boundaries = _joined([p.boundaries for p in parts], self._bases, headroom=max_seq_length)
        self._first = _joined([p.first for p in parts], _offsets([len(p.boundaries) for p in parts]))
        self._pieces = np.concatenate([p.pieces for p in parts])
        self._document = _joined([p.document for p in parts], _offsets([p.documents for p in parts]))
        self.lengths: NDArray[np.signedinteger] = (
            self._boundaries[self._first + self._pieces] - self._boundaries[self._first]
        ).astype(_smallest_dtype(self.limit))
        owners = self._document[self._pieces > 1]
        several_documents = bool(len(owners)) and owners[0] != owners[-1]
        self.without_pair = (self._pieces < 2) | (not several_documents)
        self.counts = {
            "windows": len(self),
            "windows_without_pair": int(self.without_pair.sum()) if nsp else 0,
            "sentences_cut": sum(p.sentences_cut for p in parts),
        }

    def __len__(self) -> int:
        return len(self._first)

    def segments_at(
        self, order: Order, epoch: int, places: NDArray[np.int64], is_random: NDArray[np.bool_]
    ) -> Segments:
        """Return the examples at `places`, (N,), of an epoch's order of windows.

        The windows at places 2n and 2n + 1 are partners. An example is a random pair where `is_random`, (N,), is True,
        and a true pair elsewhere. Without NSP each window is one segment.
        """
        windows = order.at(epoch, places)
        if not self.nsp:
            return self.unpaired(windows)
        neighbours = places ^ 1
        partners = order.at(epoch, np.where(neighbours < len(self), neighbours, places))
        return self.pairs(windows, partners, places % 2 == 0, is_random, key(order.seed, "splits", epoch))

    def unpaired(self, windows: NDArray[np.int64]) -> Segments:
        """Return `windows`, (N,), as examples of one segment each."""
        starts, lengths = self._positions(self._first[windows]), self.lengths[windows].astype(np.int64)
        return Segments(
            windows,
            np.stack([starts, starts + lengths], 1),
            np.stack([lengths, np.zeros_like(lengths)], 1),
            np.full(len(windows), IGNORE_INDEX),
        )

    def pairs(
        self, windows: NDArray[np.int64], partners: NDArray[np.int64], split_first: NDArray[np.bool_],
        is_random: NDArray[np.bool_], epoch_key: Bits,
    ) -> Segments:  # fmt: skip
        """Return an example for each of N windows with a partner.

        Args:
            windows: (N,) the windows that give A.
            partners: (N,) their partners; the window itself where it has none.
            split_first: (N,) True = the window is split at random, and its partner at the boundary nearest to that
                length; False = the partner is split at random, and the window near that length.
            is_random: (N,) True = B is the partner's, a random pair; False = B is the window's own, a true pair.
            epoch_key: what the splits are drawn from.
        """
        found = self.unpaired(windows)
        distinct = self._document[windows] != self._document[partners]
        pair = np.flatnonzero(distinct & (self._pieces[windows] > 1) & (self._pieces[partners] > 1))
        own, other, own_first, random = windows[pair], partners[pair], split_first[pair], is_random[pair]
        first, second = np.where(own_first, own, other), np.where(own_first, other, own)
        first_split = self._split(first, epoch_key)
        second_split = self._split_near(second, first_split - self._positions(self._first[first]))
        middle, other_middle = (
            np.where(own_first, first_split, second_split),
            np.where(own_first, second_split, first_split),
        )
        # Both windows are cut to the shorter A, at its start, and to the shorter B, at its end: so the four examples of
        # two windows have the same lengths, and no length tells the label. Either window fits, and so do these.
        in_a, in_other_a = (
            middle - self._positions(self._first[own]),
            other_middle - self._positions(self._first[other]),
        )
        in_b, in_other_b = (
            self._positions(self._first[window] + self._pieces[window]) - split
            for window, split in ((own, middle), (other, other_middle))
        )
        keep_a, keep_b = np.minimum(in_a, in_other_a), np.minimum(in_b, in_other_b)
        b_start = np.where(random, other_middle, middle)
        found.starts[pair] = np.stack([middle - keep_a, b_start], 1)
        found.lengths[pair] = np.stack([keep_a, keep_b], 1)
        found.next_sentence_label[pair] = np.where(random, RANDOM, IS_NEXT)
        return Segments(2 * windows + is_random, found.starts, found.lengths, found.next_sentence_label)

    def _split(self, windows: NDArray[np.int64], epoch_key: Bits) -> NDArray[np.int64]:
        """Return a random inner boundary of each window, as a token position over all shards."""
        inner = below(draw(epoch_key, windows), self._pieces[windows] - 1)
        return self._positions(self._first[windows] + 1 + inner)

    def _split_near(self, windows: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the inner boundary of each window that is nearest to `lengths` tokens from its start."""
        lowest, highest = self._first[windows] + 1, self._first[windows] + self._pieces[windows] - 1
        wanted = self._positions(self._first[windows]) + lengths
        # In the dtype of the table: with another one, NumPy would convert the whole table.
        above = np.clip(np.searchsorted(self._boundaries, wanted.astype(self._boundaries.dtype)), lowest, highest)
        below_it = np.maximum(above - 1, lowest)
        nearer = np.abs(self._positions(below_it) - wanted) <= np.abs(self._positions(above) - wanted)
        return self._positions(np.where(nearer, below_it, above))

    def _positions(self, boundaries: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the token positions, over all shards, of boundaries given by their number."""
        positions: NDArray[np.int64] = self._boundaries[boundaries].astype(np.int64)
        return positions

    def tokens_of(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[NDArray[Any]]:
        """Return the tokens of N segments, as views; `starts` and `lengths` are (N,)."""
        # Without the last base: an empty segment may start where the last shard ends.
        shards = np.searchsorted(self._bases[1:-1], starts, "right")
        local = starts - self._bases[shards]
        return [
            self._tokens[shard][start : start + length]
            for shard, start, length in zip(shards.tolist(), local.tolist(), lengths.tolist(), strict=True)
        ]


def _smallest_dtype(largest: int) -> np.dtype[np.signedinteger]:
    """Return the smallest signed dtype that holds `largest`."""
    return np.dtype(np.min_scalar_type(-largest - 1))


def _offsets(counts: list[int]) -> NDArray[np.int64]:
    """Return 0, and where each of the consecutive parts of these sizes ends, (len(counts) + 1,)."""
    return np.cumsum([0, *counts])


def _joined(parts: list[NDArray[np.int32]], bases: NDArray[np.int64], headroom: int = 0) -> NDArray[np.signedinteger]:
    """Return `parts` one after the other, each with its base added.

    The dtype is the smallest that holds the last base + `headroom`.
    """
    joined = np.empty(sum(map(len, parts)), _smallest_dtype(int(bases[-1]) + headroom))
    ends = _offsets([len(part) for part in parts])
    for part, base, start, end in zip(parts, bases[:-1], ends[:-1], ends[1:], strict=True):
        joined[start:end] = part + base
    return joined


@dataclass(frozen=True)
class _Windows:
    """The W windows of one shard, cut into P pieces at which they may be split."""

    boundaries: NDArray[np.int32]
    """(P + 1,) the first token of each piece, and the number of tokens."""
    first: NDArray[np.int32]
    """(W,) the number of the first piece of each window."""
    pieces: NDArray[np.signedinteger]
    """(W,) how many pieces each window has."""
    document: NDArray[np.int32]
    """(W,) the number of the document of each window."""
    documents: int
    sentences_cut: int
    """Sentences that are more than one piece."""


def _windows(shard: Shard, limit: int, *, nsp: bool) -> _Windows:
    """Cut a shard into windows of at most `limit` tokens, each as many sentences of a document as fit.

    First, a sentence that is longer than half a pair (without NSP: than `limit`) is cut into even pieces, so that any
    two pieces fit and no token is lost. With NSP no window is a single piece unless its document is. Where the last
    piece of a document would be left alone, its window begins one piece earlier; that piece is taken from the window
    before, or, where that has only two pieces, is in both windows.
    """
    longest = limit // 2 if nsp else limit
    lengths: NDArray[np.int64] = np.diff(shard.sentence_offsets).astype(np.int64)
    parts = -(-lengths // longest)
    # Piece k of a sentence of n tokens in p parts starts at n * k // p.
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = np.repeat(shard.sentence_offsets[:-1], parts) + np.repeat(lengths, parts) * part // np.repeat(parts, parts)
    boundaries = np.append(starts, len(shard.tokens)).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(parts)])[shard.document_offsets]  # the first piece of each document

    document = np.arange(len(ends) - 1)
    at, end = ends[:-1].copy(), ends[1:]
    found = []
    while len(document):
        stop = np.searchsorted(boundaries, boundaries[at] + limit, "right") - 1
        stop = np.minimum(stop, end[document])
        more = stop < end[document]
        follows = stop
        if nsp:
            alone = end[document] - stop == 1
            follows = np.where(alone, stop - 1, stop)
            stop = np.where(alone & (stop - at > 2), stop - 1, stop)
        found.append((at, stop - at, document))
        at, document = follows[more], document[more]
    first, pieces, owner = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(first, kind="stable")
    return _Windows(
        boundaries.astype(np.int32),
        first[order].astype(np.int32),
        pieces[order].astype(_smallest_dtype(limit)),
        owner[order].astype(np.int32),
        len(ends) - 1,
        int((parts > 1).sum()),
    )
