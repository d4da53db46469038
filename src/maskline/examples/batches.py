"""Batches: which examples make up step n, and what their arrays hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.examples.draws import Bits, draw, key
from maskline.examples.masking import Masker
from maskline.examples.order import Order, Pace, Ramp
from maskline.examples.pairs import PairSource, Segments, join
from maskline.tokenization.load import SpecialIds


@dataclass(frozen=True)
class Batch:
    """B examples of at most T tokens, M of these to be predicted."""

    input_ids: NDArray[np.int64]
    """(B, T) as shown to the model."""
    token_type_ids: NDArray[np.int64]
    """(B, T) 0 for [CLS] A [SEP], 1 for B [SEP]."""
    attention_mask: NDArray[np.bool_]
    """(B, T) True = real token."""
    masked_positions: NDArray[np.int64]
    """(M,) where the tokens to predict stand in the flat (B * T)."""
    masked_labels: NDArray[np.int64]
    """(M,) what they are."""
    next_sentence_label: NDArray[np.int64]
    """(B,) 0 = is next, 1 = random, -100 = no pair."""

    @property
    def tokens(self) -> int:
        """Return the number of real tokens."""
        return int(self.attention_mask.sum())


def assemble(source: PairSource, segments: Segments, special: SpecialIds) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return `input_ids` and `token_type_ids`, (B, T): [CLS] A [SEP] or [CLS] A [SEP] B [SEP], then padding."""
    sizes = segments.sizes
    input_ids = np.full((len(segments), sizes.max()), special.pad)
    token_type_ids = np.zeros_like(input_ids)
    texts = source.gather(segments.starts.ravel(), segments.lengths.ravel())
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


def shares(count: int, micro_batch: int, rank: int, ranks: int) -> Iterator[slice]:
    """Yield the microbatches of process `rank` of `ranks` in a step of `count` examples: every `ranks`-th."""
    for at in range(rank * micro_batch, count, ranks * micro_batch):
        yield slice(at, at + micro_batch)


class PretrainingBatches:
    """The batches of a pretraining run: update n is a function of n and the seed.

    An update takes `global_batch` examples of nearly one length. With an `initial_batch` it takes parts of so many
    examples, each of nearly one length: one at first, and more and more over `ramp_steps` updates.
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
        # With sentence pairs an epoch shows every window twice: with its own tail and with its partner's.
        copies = 2 if source.nsp else 1
        self.order = Order(source.lengths, part, seed, copies=copies, last=source.without_pair)
        self.ramp = Ramp(global_batch // part, ramp_steps or 0)
        self.pace = Pace(self.ramp, self.order.batches_per_epoch)
        self.counts = [source.counts]

    def updates(self, epochs: int) -> int:
        """Return how many updates see every example `epochs` times."""
        return self.pace.updates(epochs)

    def epochs(self, step: int) -> float:
        """Return how often every example has been seen, in the mean, after `step` updates."""
        return self.pace.epochs(step)

    def update_ranges(self, first: int, steps: int) -> list[range]:
        """Return the updates `first` to `steps` - 1: all are made from the same tables."""
        return [range(first, steps)]

    def examples(self, step: int) -> tuple[Segments, Bits]:
        """Return the examples of update `step`, counted from 0, in order of length, and the keys of their masks."""
        parts = [self._part(number) for number in range(self.ramp.before(step), self.ramp.before(step + 1))]
        segments, keys = join([segments for segments, _ in parts]), np.concatenate([keys for _, keys in parts])
        by_size = np.argsort(segments.sizes, kind="stable")
        return segments[by_size], keys[by_size]

    def _part(self, number: int) -> tuple[Segments, Bits]:
        epoch, positions = self.order.positions(number)
        places, copy = (positions // 2, positions % 2) if self.source.nsp else (positions, np.zeros_like(positions))
        segments = self.source.examples(self.order, epoch, places, copy == 1)
        return segments, self.mask_keys(epoch, segments)

    def mask_keys(self, epoch: int, segments: Segments) -> Bits:
        """Return what the masks of N examples are drawn from in an epoch, (N,)."""
        return draw(key(self.seed, "masks", epoch), segments.numbers)

    def microbatches(self, step: int, rate: float, micro_batch: int, rank: int = 0, ranks: int = 1) -> list[Batch]:
        """Return the batches of update `step`, counted from 0, that process `rank` of `ranks` works on.

        A share `rate` of the tokens is masked.
        """
        segments, keys = self.examples(step)
        parts = shares(len(segments), micro_batch, rank, ranks)
        return [self.batch(segments[part], keys[part], rate) for part in parts]

    def batch(self, segments: Segments, keys: Bits, rate: float) -> Batch:
        """Return N examples, a share `rate` of their tokens masked as their `keys`, (N,), have it."""
        input_ids, token_type_ids = assemble(self.source, segments, self.special)
        shown, positions = self.masker(input_ids, keys, rate)
        return Batch(
            input_ids=shown,
            token_type_ids=token_type_ids,
            attention_mask=np.arange(input_ids.shape[1]) < segments.sizes[:, None],
            masked_positions=positions,
            masked_labels=input_ids.ravel()[positions],
            next_sentence_label=segments.next_sentence_label,
        )


def by_length(sizes: NDArray[np.int64], batch: int) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of a fixed set in batches of nearly one length."""
    order = np.argsort(sizes, kind="stable")
    for at in range(0, len(order), batch):
        yield order[at : at + batch]
