"""Sentence pairs for next-sentence prediction (Devlin et al. 2019, sec. 3.1), drawn anew each epoch.

The corpus is cut once into *windows*: runs of consecutive sentences of one document that fit the sequence. Example i
takes its segment A from the head of window i and its segment B from the tail, split at a random sentence
boundary; half of the examples take their B from another document instead, split in the same way, so that neither
the length nor the place of a segment gives the label away. A document of one sentence has no pair to give: it is
an example of one segment, without a label.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.examples.draws import Bits, below, draw
from maskline.examples.shards import Shard, TokenShards

IS_NEXT, RANDOM, IGNORE = 0, 1, -100

_SPLIT, _LABEL, _OTHER, _OTHER_SPLIT = range(4)


@dataclass(frozen=True)
class Segments:
    """Where the tokens of some examples lie: arrays of (N,), or (N, 2) for segments A and B.

    An example of one segment has an empty B. Starts count tokens over all shards.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    next_sentence_label: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.next_sentence_label)

    def __getitem__(self, rows: NDArray[np.int64] | slice) -> "Segments":
        return Segments(self.starts[rows], self.lengths[rows], self.next_sentence_label[rows])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(N,) tokens of each example, [CLS] and [SEP] included."""
        sizes: NDArray[np.int64] = self.lengths.sum(1) + 2 + (self.lengths[:, 1] > 0)
        return sizes


class PairSource:
    """The examples of one split: example i of an epoch is a function of i and the epoch's key.

    Attributes:
        counts: windows, those without a pair, and the sentences that were cut because half a sequence is shorter.
    """

    def __init__(self, shards: TokenShards, max_seq_length: int, *, nsp: bool) -> None:
        """Cut `shards` into windows of at most `max_seq_length` tokens, special tokens included."""
        self.nsp = nsp
        self.limit = max_seq_length - (3 if nsp else 2)
        self._tokens = [shard.tokens for shard in shards]
        self._bases = np.cumsum([0, *map(len, self._tokens)])
        parts = [_windows(shard, self.limit, nsp=nsp) for shard in shards]
        # Boundaries of the pieces that a pair may be split at, as token positions over all shards.
        self._boundaries = np.concatenate([p.boundaries + base for p, base in zip(parts, self._bases, strict=False)])
        boundary_bases = np.cumsum([0, *(len(p.boundaries) for p in parts)])
        document_bases = np.cumsum([0, *(p.documents for p in parts)])
        self._first = np.concatenate([p.first + base for p, base in zip(parts, boundary_bases, strict=False)])
        self._pieces = np.concatenate([p.pieces for p in parts])
        document = np.concatenate([p.document + base for p, base in zip(parts, document_bases, strict=False)])
        self._paired = np.flatnonzero(self._pieces > 1) if nsp else np.empty(0, np.int64)
        owners = document[self._paired]
        # The run of paired windows that belong to the document of each window.
        self._own_first = np.searchsorted(owners, document, "left")
        self._own_count = np.searchsorted(owners, document, "right") - self._own_first
        if nsp and len(self._paired) and owners[0] == owners[-1]:
            self._paired = self._paired[:0]  # one document alone has no other to draw from
        self.counts = {
            "windows": len(self._first),
            "windows_without_pair": len(self._first) - len(self._paired) if nsp else 0,
            "sentences_cut": sum(p.cut for p in parts),
        }

    def __len__(self) -> int:
        return len(self._first)

    def segments(self, indices: NDArray[np.int64], epoch_key: Bits) -> Segments:
        """Return the segments of examples `indices`, (N,), in the epoch of `epoch_key`."""
        first, pieces = self._first[indices], self._pieces[indices]
        start, end = self._boundaries[first], self._boundaries[first + pieces]
        a = np.stack([start, end], 1)
        b = np.stack([end, end], 1)
        label = np.full(len(indices), IGNORE)
        if len(self._paired):
            keys = draw(epoch_key, indices)
            bits = [draw(keys, np.full(1, purpose)) for purpose in range(4)]
            pair = np.flatnonzero(pieces > 1)
            middle = self._split(first[pair], pieces[pair], bits[_SPLIT][pair])
            a[pair, 1], b[pair, 0] = middle, middle
            label[pair] = np.where(bits[_LABEL][pair] >> np.uint64(63), RANDOM, IS_NEXT)
            random = np.flatnonzero(label == RANDOM)
            other = self._other(indices[random], bits[_OTHER][random])
            first, pieces = self._first[other], self._pieces[other]
            b[random, 0] = self._split(first, pieces, bits[_OTHER_SPLIT][random])
            b[random, 1] = self._boundaries[first + pieces]
        return self._trim(a, b, label)

    def _split(self, first: NDArray[Any], pieces: NDArray[Any], bits: Bits) -> NDArray[np.int64]:
        """Return a random inner boundary of each window, as a token position."""
        split: NDArray[np.int64] = self._boundaries[first + 1 + below(bits, pieces - 1)]
        return split

    def _other(self, indices: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
        """Return for each window another one with a pair, uniformly among those of all other documents."""
        skip, count = self._own_first[indices], self._own_count[indices]
        place = below(bits, len(self._paired) - count)
        other: NDArray[np.int64] = self._paired[place + np.where(place >= skip, count, 0)]
        return other

    def _trim(self, a: NDArray[np.int64], b: NDArray[np.int64], label: NDArray[np.int64]) -> Segments:
        """Shorten the longer segment first, at its far end from the other, until both fit."""
        in_a, in_b = a[:, 1] - a[:, 0], b[:, 1] - b[:, 0]
        keep_a = np.minimum(in_a, np.maximum(self.limit - in_b, (self.limit + 1) // 2))
        keep_b = np.minimum(in_b, self.limit - keep_a)
        return Segments(np.stack([a[:, 1] - keep_a, b[:, 0]], 1), np.stack([keep_a, keep_b], 1), label)

    def gather(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[NDArray[Any]]:
        """Return views of the tokens of each segment."""
        # Inner bases alone: an empty segment may start where the last shard ends.
        shards = np.searchsorted(self._bases[1:-1], starts, "right")
        local = starts - self._bases[shards]
        return [
            self._tokens[shard][start : start + length]
            for shard, start, length in zip(shards.tolist(), local.tolist(), lengths.tolist(), strict=True)
        ]


@dataclass(frozen=True)
class _Windows:
    boundaries: NDArray[np.int64]
    first: NDArray[np.int64]
    pieces: NDArray[np.int64]
    document: NDArray[np.int64]
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
    return _Windows(boundaries, first[order], pieces[order], owner[order], len(ends) - 1, int((parts > 1).sum()))
