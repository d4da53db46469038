"""Sentence pairs for next-sentence prediction (Devlin et al. 2019, sec. 3.1), drawn anew each epoch.

The corpus is cut once into *windows*: runs of consecutive sentences of one document that fit the sequence. In an epoch
windows meet in twos, i and k, and each is split in two at a sentence boundary: A|B. They give four examples, two true,
A_i B_i and A_k B_k, and two random, A_i B_k and A_k B_i. BERT draws a stranger for half of the examples; here the same
segments stand in the true pairs and in the random ones, so that nothing about one segment alone can tell the label,
and what it would add to the gradient as noise cancels. Windows of nearly one length meet, and are split alike, so that
lengths tell little either.

A document of one sentence has no pair to give, and two windows of one document no random pair: they are examples of one
segment, without a label.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.examples.draws import Bits, below, draw, key
from maskline.examples.order import Order
from maskline.shards.store import Shard, TokenShards

IS_NEXT, RANDOM, IGNORE = 0, 1, -100


@dataclass(frozen=True)
class Segments:
    """Where the tokens of some examples lie: arrays of (N,), or (N, 2) for segments A and B.

    An example of one segment has an empty B. Starts count tokens over all shards.
    """

    numbers: NDArray[np.int64]
    """What tells an example from all others of its epoch."""
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    next_sentence_label: NDArray[np.int64]

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
    """The windows of one split, and the examples that they give.

    Attributes:
        lengths: (W,) tokens of each window.
        without_pair: (W,) bool, windows that cannot be split, or have no window of another document to meet.
        counts: windows, those without a pair, and the sentences that were cut because half a sequence is shorter.
    """

    def __init__(self, shards: TokenShards, max_seq_length: int, *, nsp: bool) -> None:
        """Cut `shards` into windows of at most `max_seq_length` tokens, special tokens included."""
        self.nsp = nsp
        self.limit = max_seq_length - (3 if nsp else 2)
        self._tokens = [shard.tokens for shard in shards]
        self._bases = _ends([len(tokens) for tokens in self._tokens])
        parts = [_windows(shard, self.limit, nsp=nsp) for shard in shards]
        # Boundaries of the pieces that a pair may be split at, as token positions over all shards. These tables are
        # what grows with the corpus, so that each has the smallest type.
        self._boundaries = _joined([p.boundaries for p in parts], self._bases, beyond=max_seq_length)
        self._first = _joined([p.first for p in parts], _ends([len(p.boundaries) for p in parts]))
        self._pieces = np.concatenate([p.pieces for p in parts])
        self._document = _joined([p.document for p in parts], _ends([p.documents for p in parts]))
        self.lengths: NDArray[np.signedinteger] = (
            self._boundaries[self._first + self._pieces] - self._boundaries[self._first]
        ).astype(_smallest(self.limit))
        owners = self._document[self._pieces > 1]
        meets_another = bool(len(owners)) and owners[0] != owners[-1]
        self.without_pair = (self._pieces < 2) | (not meets_another)
        self.counts = {
            "windows": len(self),
            "windows_without_pair": int(self.without_pair.sum()) if nsp else 0,
            "sentences_cut": sum(p.cut for p in parts),
        }

    def __len__(self) -> int:
        return len(self._first)

    def examples(self, order: Order, epoch: int, places: NDArray[np.int64], crossed: NDArray[np.bool_]) -> Segments:
        """Return the examples at `places`, (N,), of an epoch's order of windows.

        The windows at an even place and the next one meet; an example is a random pair where `crossed`, (N,), and a
        true one elsewhere. Without sentence pairs each window is one segment.
        """
        windows = order.at(epoch, places)
        if not self.nsp:
            return self.single(windows)
        neighbours = places ^ 1
        partners = order.at(epoch, np.where(neighbours < len(self), neighbours, places))
        return self.pairs(windows, partners, places % 2 == 0, crossed, key(order.seed, "splits", epoch))

    def single(self, windows: NDArray[np.int64]) -> Segments:
        """Return `windows`, (N,), as examples of one segment each."""
        starts, lengths = self._positions(self._first[windows]), self.lengths[windows].astype(np.int64)
        return Segments(
            windows,
            np.stack([starts, starts + lengths], 1),
            np.stack([lengths, np.zeros_like(lengths)], 1),
            np.full(len(windows), IGNORE),
        )

    def pairs(
        self, windows: NDArray[np.int64], partners: NDArray[np.int64], leads: NDArray[np.bool_],
        crossed: NDArray[np.bool_], epoch_key: Bits,
    ) -> Segments:  # fmt: skip
        """Return an example for each of N meetings of two windows.

        Args:
            windows: (N,) the windows that give A.
            partners: (N,) the windows that they meet; a window itself where there is none.
            leads: (N,) whether the window is split at random and its partner alike, or the other way round.
            crossed: (N,) whether B is the partner's, or the window's own.
            epoch_key: what the splits are drawn from.
        """
        found = self.single(windows)
        distinct = self._document[windows] != self._document[partners]
        pair = np.flatnonzero(distinct & (self._pieces[windows] > 1) & (self._pieces[partners] > 1))
        own, other, leading, cross = windows[pair], partners[pair], leads[pair], crossed[pair]
        leader, follower = np.where(leading, own, other), np.where(leading, other, own)
        split = self._split(leader, epoch_key)
        alike = self._split_alike(follower, split - self._positions(self._first[leader]))
        middle, other_middle = np.where(leading, split, alike), np.where(leading, alike, split)
        start = self._positions(self._first[own])
        donor, b_start = np.where(cross, other, own), np.where(cross, other_middle, middle)
        b_end = self._positions(self._first[donor] + self._pieces[donor])
        # Shorten the longer segment first, at its far end from the other, until both fit.
        in_a, in_b = middle - start, b_end - b_start
        keep_a = np.minimum(in_a, np.maximum(self.limit - in_b, (self.limit + 1) // 2))
        keep_b = np.minimum(in_b, self.limit - keep_a)
        found.starts[pair] = np.stack([middle - keep_a, b_start], 1)
        found.lengths[pair] = np.stack([keep_a, keep_b], 1)
        found.next_sentence_label[pair] = np.where(cross, RANDOM, IS_NEXT)
        return Segments(2 * windows + crossed, found.starts, found.lengths, found.next_sentence_label)

    def _split(self, windows: NDArray[np.int64], epoch_key: Bits) -> NDArray[np.int64]:
        """Return a random inner boundary of each window, as a token position."""
        inner = below(draw(epoch_key, windows), self._pieces[windows] - 1)
        return self._positions(self._first[windows] + 1 + inner)

    def _split_alike(self, windows: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the inner boundary of each window that comes nearest to `lengths` tokens from its start."""
        lowest, highest = self._first[windows] + 1, self._first[windows] + self._pieces[windows] - 1
        wanted = self._positions(self._first[windows]) + lengths
        # In the type of the table, or all of it would be converted.
        above = np.clip(np.searchsorted(self._boundaries, wanted.astype(self._boundaries.dtype)), lowest, highest)
        below_it = np.maximum(above - 1, lowest)
        nearer = np.abs(self._positions(below_it) - wanted) <= np.abs(self._positions(above) - wanted)
        return self._positions(np.where(nearer, below_it, above))

    def _positions(self, boundaries: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return where boundaries are, as token positions."""
        positions: NDArray[np.int64] = self._boundaries[boundaries].astype(np.int64)
        return positions

    def gather(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[NDArray[Any]]:
        """Return views of the tokens of each segment."""
        # Inner bases alone: an empty segment may start where the last shard ends.
        shards = np.searchsorted(self._bases[1:-1], starts, "right")
        local = starts - self._bases[shards]
        return [
            self._tokens[shard][start : start + length]
            for shard, start, length in zip(shards.tolist(), local.tolist(), lengths.tolist(), strict=True)
        ]


def _smallest(largest: int) -> np.dtype[np.signedinteger]:
    """Return the smallest signed type of numbers up to `largest`."""
    return np.dtype(np.min_scalar_type(-largest - 1))


def _ends(counts: list[int]) -> NDArray[np.int64]:
    """Return (0, and where each of the consecutive parts of these sizes ends)."""
    return np.cumsum([0, *counts])


def _joined(parts: list[NDArray[np.int32]], bases: NDArray[np.int64], beyond: int = 0) -> NDArray[np.signedinteger]:
    """Return all numbers of `parts`, each part plus its base, in the smallest type of the last base + `beyond`."""
    joined = np.empty(sum(map(len, parts)), _smallest(int(bases[-1]) + beyond))
    ends = _ends([len(part) for part in parts])
    for part, base, start, end in zip(parts, bases[:-1], ends[:-1], ends[1:], strict=True):
        joined[start:end] = part + base
    return joined


@dataclass(frozen=True)
class _Windows:
    """The windows of one shard: each `pieces` long from boundary number `first` on, in document number `document`."""

    boundaries: NDArray[np.int32]
    first: NDArray[np.int32]
    pieces: NDArray[np.signedinteger]
    document: NDArray[np.int32]
    documents: int
    cut: int


def _windows(shard: Shard, limit: int, *, nsp: bool) -> _Windows:
    """Cut a shard into windows: each the longest run of sentences that fits what its document has left.

    A sentence longer than half a pair (or a whole single segment) is cut into even pieces first, so that any two
    pieces fit and no token is lost. With pairs no window holds one piece alone unless its document does: a last
    piece is joined by the one before it, which two windows share where the former has only two.
    """
    longest = limit // 2 if nsp else limit
    lengths: NDArray[np.int64] = np.diff(shard.sentence_offsets).astype(np.int64)
    parts = -(-lengths // longest)
    # Piece k of a sentence of n tokens in p parts starts at n * k // p.
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = np.repeat(shard.sentence_offsets[:-1], parts) + np.repeat(lengths, parts) * part // np.repeat(parts, parts)
    boundaries = np.append(starts, len(shard.tokens)).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(parts)])[shard.document_offsets]  # documents as piece numbers

    document = np.arange(len(ends) - 1)
    at, end = ends[:-1].copy(), ends[1:]
    found = []
    while len(document):
        stop = np.searchsorted(boundaries, boundaries[at] + limit, "right") - 1
        stop = np.minimum(stop, end[document])
        more = stop < end[document]
        follows = stop
        if nsp:  # a last piece left alone takes the one before it along
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
        pieces[order].astype(_smallest(limit)),
        owner[order].astype(np.int32),
        len(ends) - 1,
        int((parts > 1).sum()),
    )
