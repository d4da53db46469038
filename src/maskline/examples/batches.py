"""Batches of examples without work on padding: which examples make up step n, and what their tensors hold.

An epoch is a random order of all examples. Within a pool of consecutive batches the examples are sorted by length
and cut anew, so that a batch holds examples of nearly one length; the batches of the pool then come in random order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.examples.draws import draw, key, permute
from maskline.examples.masking import Masker
from maskline.examples.pairs import PairSource, Segments
from maskline.tokenization.load import SpecialIds

POOL_BATCHES = 64


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
        """Real tokens in the batch."""
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


class GroupedOrder:
    """In which order examples come: update n is a function of n and the seed."""

    def __init__(
        self, count: int, batch: int, seed: int, sizes: Callable[[int, NDArray[np.int64]], NDArray[np.int64]]
    ) -> None:
        """Order `count` examples in batches of `batch`; `sizes(epoch, indices)` gives their lengths."""
        self.count = count
        self.batch = batch
        self.seed = seed
        self.sizes = sizes
        self.steps_per_epoch = -(-count // batch)
        self._pool = lru_cache(maxsize=2)(self._draw_pool)

    def indices(self, step: int) -> tuple[int, NDArray[np.int64]]:
        """Return the epoch of update `step`, counted from 0, and its examples in order of length."""
        epoch, number = divmod(step, self.steps_per_epoch)
        pool, place = divmod(number, POOL_BATCHES)
        return epoch, self._pool(epoch, pool)[place]

    def share(self, step: int, micro_batch: int, rank: int, ranks: int) -> tuple[int, list[NDArray[np.int64]]]:
        """Return the epoch of update `step`, and the examples of each microbatch of process `rank` of `ranks`."""
        epoch, indices = self.indices(step)
        starts = range(rank * micro_batch, len(indices), ranks * micro_batch)
        return epoch, [indices[at : at + micro_batch] for at in starts]

    def _draw_pool(self, epoch: int, pool: int) -> list[NDArray[np.int64]]:
        size = POOL_BATCHES * self.batch
        positions = np.arange(pool * size, min((pool + 1) * size, self.count))
        indices = permute(key(self.seed, "order", epoch), positions, self.count)
        indices = indices[np.argsort(self.sizes(epoch, indices), kind="stable")]
        batches = [indices[at : at + self.batch] for at in range(0, len(indices), self.batch)]
        order = np.argsort(draw(key(self.seed, "batches", epoch, pool), np.arange(len(batches))))
        return [batches[place] for place in order]


class PretrainingBatches:
    """The batches of a pretraining run: step n is a function of n and the seed."""

    def __init__(
        self, source: PairSource, masker: Masker, special: SpecialIds, *, seed: int, global_batch: int
    ) -> None:
        self.source = source
        self.masker = masker
        self.special = special
        self.seed = seed
        self.order = GroupedOrder(
            len(source), global_batch, seed, lambda epoch, rows: self._segments(epoch, rows).sizes
        )

    def _segments(self, epoch: int, indices: NDArray[np.int64]) -> Segments:
        return self.source.segments(indices, key(self.seed, "pairs", epoch))

    def microbatches(self, step: int, micro_batch: int, rank: int = 0, ranks: int = 1) -> list[Batch]:
        """Return the batches of update `step`, counted from 0, that process `rank` of `ranks` works on."""
        epoch, parts = self.order.share(step, micro_batch, rank, ranks)
        return [self.batch(epoch, part) for part in parts]

    def batch(self, epoch: int, indices: NDArray[np.int64]) -> Batch:
        """Return the examples `indices` as they are in `epoch`."""
        segments = self._segments(epoch, indices)
        input_ids, token_type_ids = assemble(self.source, segments, self.special)
        shown, positions = self.masker(input_ids, draw(key(self.seed, "masks", epoch), indices))
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
