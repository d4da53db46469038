"""Pretraining batches: which examples update n takes, and the arrays that they become."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.examples.draws import Bits, draw, key
from maskline.examples.masking import Masker
from maskline.examples.order import EpochClock, Order, Ramp
from maskline.examples.pairs import PairSource, Segments, join
from maskline.tokenization.load import SpecialIds


@dataclass(frozen=True)
class PretrainingBatch:
    """B examples of at most T tokens; M tokens of the batch are to be predicted."""

    input_ids: NDArray[np.int64]
    """(B, T) token ids as the model sees them: masked, and padded with [PAD]."""
    token_type_ids: NDArray[np.int64]
    """(B, T) 0 for [CLS] A [SEP], 1 for B [SEP]."""
    attention_mask: NDArray[np.bool_]
    """(B, T) True = real token."""
    masked_positions: NDArray[np.int64]
    """(M,) positions of the tokens to predict in the flattened batch, each below B * T."""
    masked_labels: NDArray[np.int64]
    """(M,) the tokens to predict."""
    next_sentence_label: NDArray[np.int64]
    """(B,) 0 = is next, 1 = random, -100 = no pair."""

    @property
    def tokens(self) -> int:
        """The number of real tokens."""
        return int(self.attention_mask.sum())


def pad(rows: Sequence[NDArray[Any]], fill: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return B arrays of ids as one array, filled up with `fill`, and its mask, both (B, T).

    T is the length of the longest array. The mask is True at the ids that were given.
    """
    sizes = np.array([len(row) for row in rows])
    mask = np.arange(sizes.max()) < sizes[:, None]
    padded = np.full(mask.shape, fill)
    padded[mask] = np.concatenate(rows)
    return padded, mask


def assemble(source: PairSource, segments: Segments, special: SpecialIds) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the unmasked `input_ids` and `token_type_ids` of B examples, (B, T).

    A row is [CLS] A [SEP] or [CLS] A [SEP] B [SEP], then padding.
    """
    sizes = segments.sizes
    input_ids = np.full((len(segments), sizes.max()), special.pad)
    token_type_ids = np.zeros_like(input_ids)
    texts = source.tokens_of(segments.starts.ravel(), segments.lengths.ravel())
    in_a, in_b = segments.lengths.T.tolist()
    input_ids[:, 0] = special.cls
    for row, (a, b) in enumerate(zip(in_a, in_b, strict=True)):
        input_ids[row, 1 : 1 + a] = texts[2 * row]
        input_ids[row, 1 + a] = special.sep
        if b:
            input_ids[row, 2 + a : 2 + a + b] = texts[2 * row + 1]
            input_ids[row, 2 + a + b] = special.sep
            token_type_ids[row, 2 + a : 3 + a + b] = 1
    return input_ids, token_type_ids


def microbatch_slices(count: int, micro_batch: int, rank: int, ranks: int) -> Iterator[slice]:
    """Yield where the microbatches of process `rank` lie in an update of `count` examples: every `ranks`-th one."""
    for at in range(rank * micro_batch, count, ranks * micro_batch):
        yield slice(at, at + micro_batch)


class PretrainingBatches:
    """The batches of a pretraining run: update n is a function of n and the seed.

    An update takes `global_batch` examples of nearly one length. With an `initial_batch` it takes one or more batches
    of that size instead: one at first, then more and more, until after `ramp_steps` updates they are `global_batch`
    examples together. Each of them has examples of nearly one length.
    """

    def __init__(
        self,
        source: PairSource,
        masker: Masker,
        special: SpecialIds,
        *,
        seed: int,
        global_batch: int,
        initial_batch: int | None = None,
        ramp_steps: int | None = None,
    ) -> None:
        part = initial_batch or global_batch
        assert global_batch % part == 0
        self.source = source
        self.masker = masker
        self.special = special
        self.seed = seed
        # With sentence pairs an epoch shows every window twice: with its own B and with its partner's.
        copies = 2 if source.nsp else 1
        self.order = Order(source.lengths, part, seed, copies=copies, last=source.without_pair)
        self.ramp = Ramp(global_batch // part, ramp_steps or 0)
        self.clock = EpochClock(self.ramp, self.order.batches_per_epoch)
        self.counts = [source.counts]

    def updates(self, epochs: int) -> int:
        """Return how many updates it takes to see every example `epochs` times."""
        return self.clock.updates(epochs)

    def epochs(self, step: int) -> float:
        """Return how often the examples have been seen, on average, after `step` updates."""
        return self.clock.epochs(step)

    def update_ranges(self, first: int, steps: int) -> list[range]:
        """Return the updates `first` to `steps` - 1: all are made from the same tables."""
        return [range(first, steps)]

    def segments_and_keys(self, step: int) -> tuple[Segments, Bits]:
        """Return the examples of update `step`, counted from 0, in order of length, and the keys of their masks."""
        numbers = range(self.ramp.batches_before(step), self.ramp.batches_before(step + 1))
        parts = [self._batch_of_order(number) for number in numbers]
        segments, keys = join([segments for segments, _ in parts]), np.concatenate([keys for _, keys in parts])
        by_size = np.argsort(segments.sizes, kind="stable")
        return segments[by_size], keys[by_size]

    def _batch_of_order(self, number: int) -> tuple[Segments, Bits]:
        epoch, positions = self.order.positions(number)
        places, copy = (positions // 2, positions % 2) if self.source.nsp else (positions, np.zeros_like(positions))
        segments = self.source.segments_at(self.order, epoch, places, copy == 1)
        return segments, self.mask_keys(epoch, segments)

    def mask_keys(self, epoch: int, segments: Segments) -> Bits:
        """Return the keys that the masks of N examples are drawn from in an epoch, (N,)."""
        return draw(key(self.seed, "masks", epoch), segments.numbers)

    def microbatches(
        self, step: int, rate: float, micro_batch: int, rank: int = 0, ranks: int = 1
    ) -> list[PretrainingBatch]:
        """Return the batches of update `step`, counted from 0, that process `rank` of `ranks` trains on.

        A share `rate` of the tokens is masked.
        """
        segments, keys = self.segments_and_keys(step)
        parts = microbatch_slices(len(segments), micro_batch, rank, ranks)
        return [self.batch(segments[part], keys[part], rate) for part in parts]

    def batch(self, segments: Segments, keys: Bits, rate: float) -> PretrainingBatch:
        """Return N examples as one batch; a share `rate` of the tokens is masked, drawn from `keys`, (N,)."""
        input_ids, token_type_ids = assemble(self.source, segments, self.special)
        shown, positions = self.masker(input_ids, keys, rate)
        return PretrainingBatch(
            input_ids=shown,
            token_type_ids=token_type_ids,
            attention_mask=np.arange(input_ids.shape[1]) < segments.sizes[:, None],
            masked_positions=positions,
            masked_labels=input_ids.ravel()[positions],
            next_sentence_label=segments.next_sentence_label,
        )


def by_length(sizes: NDArray[np.int64], batch_tokens: int) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of examples of `sizes` tokens, (N,), in batches of nearly one length, from short to long.

    A batch has at most `batch_tokens` tokens, were all as long as its longest, or is one example.
    """
    order = np.argsort(sizes, kind="stable")
    start = 0
    while start < len(order):
        # What fits is a matter of the longest example alone, the last; the more there are, the longer it is.
        padded = sizes[order[start : start + batch_tokens]] * np.arange(1, min(batch_tokens, len(order) - start) + 1)
        end = start + max(1, int(np.searchsorted(padded, batch_tokens, "right")))
        yield order[start:end]
        start = end
