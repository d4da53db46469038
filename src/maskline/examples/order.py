"""The order of the examples in a run: random, in batches of similar length.

The examples are sorted by length once. Each epoch cuts the sorted list into blocks, at a random offset, and shuffles
every block. A batch is a slice of that list, so it needs little padding. The batches of an epoch come in random order.
No table of a whole epoch is kept in memory.

An update takes one batch, or several batches where a `Ramp` says so.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from maskline.examples.draws import below, draw, key, permute

BLOCK = 1024
"""Examples that are shuffled among each other."""


class Order:
    """Which examples make up batch n: a function of n and the seed.

    Attributes:
        count: positions in an epoch's list: the number of examples times `copies`.
        batch: examples per batch.
        seed: what the order is drawn from.
        batches_per_epoch: batches that hold every example `copies` times.
    """

    def __init__(
        self,
        lengths: NDArray[np.integer],
        batch: int,
        seed: int,
        *,
        copies: int = 1,
        last: NDArray[np.bool_] | None = None,
    ) -> None:
        """Sort the examples by length.

        Args:
            lengths: (N,) tokens of each example.
            batch: examples per batch.
            seed: what the order is drawn from.
            copies: how often each example occurs in an epoch.
            last: (N,) True = the example is sorted after all others, whatever its length.
        """
        last = np.zeros(len(lengths), bool) if last is None else last
        self._sorted = np.lexsort((lengths, last)).astype(np.min_scalar_type(len(lengths)))
        self._parts = np.array([0, len(lengths) - last.sum(), len(lengths)])
        self.count = len(lengths) * copies
        self.batch = batch
        self.seed = seed
        self.batches_per_epoch = -(-self.count // batch)
        self._block = lru_cache(maxsize=16)(self._shuffle)

    def positions(self, number: int) -> tuple[int, NDArray[np.int64]]:
        """Return the epoch of batch `number`, counted from 0, and its positions in the epoch's list of `count`."""
        epoch, rest = divmod(number, self.batches_per_epoch)
        place = int(permute(key(self.seed, "batches", epoch), np.array([rest]), self.batches_per_epoch)[0])
        return epoch, np.arange(place * self.batch, min((place + 1) * self.batch, self.count))

    def at(self, epoch: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the examples at `places`, each below N, of the sorted and shuffled list of an epoch."""
        part = np.searchsorted(self._parts, places, "right") - 1
        block = (places - self._parts[part] + self._shift(epoch)) // BLOCK
        found = np.empty_like(places)
        for one, number in {*zip(part.tolist(), block.tolist(), strict=True)}:
            start, examples = self._block(epoch, one, number)
            here = (part == one) & (block == number)
            found[here] = examples[places[here] - start]
        return found

    def _shift(self, epoch: int) -> int:
        """Return the random offset of an epoch's blocks."""
        return int(below(draw(key(self.seed, "shift", epoch), np.zeros(1, np.int64)), BLOCK)[0])

    def _shuffle(self, epoch: int, part: int, block: int) -> tuple[int, NDArray[np.int64]]:
        """Return where a block starts in the sorted list, and its examples in random order."""
        first, end = self._parts[part], self._parts[part + 1]
        start = max(first, first + block * BLOCK - self._shift(epoch))
        examples = self._sorted[start : min(end, first + (block + 1) * BLOCK - self._shift(epoch))]
        order = np.argsort(draw(key(self.seed, "order", epoch, part, block), np.arange(len(examples))), kind="stable")
        return int(start), examples[order]


class Ramp:
    """How many batches each update takes: a number that grows from 1 to `most`.

    Update n, counted from 0, takes 1 + floor((most - 1) * n / steps) batches; from update `steps` on it takes `most`.
    """

    def __init__(self, most: int, steps: int) -> None:
        growing = 1 + (most - 1) * np.arange(steps) // max(1, steps)
        self._most = most
        self._steps = steps
        self._before = np.concatenate([[0], np.cumsum(growing)])

    def batches_before(self, step: int) -> int:
        """Return how many batches the updates before update `step`, counted from 0, take together."""
        growing = min(step, self._steps)
        return int(self._before[growing]) + self._most * (step - growing)

    def updates_for(self, batches: int) -> int:
        """Return how many updates it takes to see the first `batches` batches."""
        growing = int(np.searchsorted(self._before, batches))
        if growing <= self._steps:
            return growing
        return self._steps - (int(self._before[-1]) - batches) // self._most


@dataclass(frozen=True)
class EpochClock:
    """Convert epochs to updates and back. Unlike `Order`, it holds no table."""

    ramp: Ramp
    batches_per_epoch: int

    def updates(self, epochs: int) -> int:
        """Return how many updates it takes to see every example `epochs` times."""
        return self.ramp.updates_for(epochs * self.batches_per_epoch)

    def epochs(self, step: int) -> float:
        """Return how often the examples have been seen, on average, after `step` updates."""
        return self.ramp.batches_before(step) / self.batches_per_epoch
