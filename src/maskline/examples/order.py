"""In which order examples come: random, in batches of nearly one length, each a function of its number.

The examples are sorted by length once. An epoch cuts the sorted list into blocks, from a random place on, and shuffles
each; the batches, cut from the list, come in random order. So a batch needs little padding, and no table of an epoch is
kept. An update takes one batch, or as many as a ramp says.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from maskline.examples.draws import below, draw, key, permute

BLOCK = 1024


class Order:
    """Batch n is a function of n and the seed.

    Attributes:
        count: places in an epoch's list, copies included.
        batch: examples per batch.
        seed: what the order is drawn from.
        batches_per_epoch: batches that hold every example, each `copies` times.
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
        """Order examples of `lengths`, (N,), in batches of `batch`; those marked in `last`, (N,), after all others."""
        last = np.zeros(len(lengths), bool) if last is None else last
        self._sorted = np.lexsort((lengths, last)).astype(np.min_scalar_type(len(lengths)))
        self._parts = np.array([0, len(lengths) - last.sum(), len(lengths)])
        self.count = len(lengths) * copies
        self.batch = batch
        self.seed = seed
        self.batches_per_epoch = -(-self.count // batch)
        self._block = lru_cache(maxsize=16)(self._shuffle)

    def positions(self, number: int) -> tuple[int, NDArray[np.int64]]:
        """Return the epoch of batch `number`, counted from 0, and its places in the epoch's list of `count`."""
        epoch, rest = divmod(number, self.batches_per_epoch)
        place = int(permute(key(self.seed, "batches", epoch), np.array([rest]), self.batches_per_epoch)[0])
        return epoch, np.arange(place * self.batch, min((place + 1) * self.batch, self.count))

    def at(self, epoch: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which examples stand at `positions`, each below N, in an epoch."""
        part = np.searchsorted(self._parts, positions, "right") - 1
        block = (positions - self._parts[part] + self._shift(epoch)) // BLOCK
        found = np.empty_like(positions)
        for one, number in {*zip(part.tolist(), block.tolist(), strict=True)}:
            start, examples = self._block(epoch, one, number)
            here = (part == one) & (block == number)
            found[here] = examples[positions[here] - start]
        return found

    def _shift(self, epoch: int) -> int:
        return int(below(draw(key(self.seed, "shift", epoch), np.zeros(1, np.int64)), BLOCK)[0])

    def _shuffle(self, epoch: int, part: int, block: int) -> tuple[int, NDArray[np.int64]]:
        """Return where a block of one part of the list starts, and its examples in random order."""
        first, end = self._parts[part], self._parts[part + 1]
        start = max(first, first + block * BLOCK - self._shift(epoch))
        examples = self._sorted[start : min(end, first + (block + 1) * BLOCK - self._shift(epoch))]
        order = np.argsort(draw(key(self.seed, "order", epoch, part, block), np.arange(len(examples))), kind="stable")
        return int(start), examples[order]


class Ramp:
    """How many batches of an order each update takes: a number that grows from 1 to `most`.

    Update n, counted from 0, takes 1 + floor((most - 1) * n / steps), and from update `steps` on `most`.
    """

    def __init__(self, most: int, steps: int) -> None:
        growing = 1 + (most - 1) * np.arange(steps) // max(1, steps)
        self._most = most
        self._steps = steps
        self._before = np.concatenate([[0], np.cumsum(growing)])

    def before(self, step: int) -> int:
        """Return how many batches all updates before update `step`, counted from 0, take."""
        growing = min(step, self._steps)
        return int(self._before[growing]) + self._most * (step - growing)

    def updates(self, batches: int) -> int:
        """Return how many updates it takes to see the first `batches` batches."""
        growing = int(np.searchsorted(self._before, batches))
        if growing <= self._steps:
            return growing
        return self._steps - (int(self._before[-1]) - batches) // self._most


@dataclass(frozen=True)
class Pace:
    """How fast a run goes through its examples, without the tables of an order."""

    ramp: Ramp
    batches_per_epoch: int

    def updates(self, epochs: int) -> int:
        """Return how many updates see every example `epochs` times."""
        return self.ramp.updates(epochs * self.batches_per_epoch)

    def epochs(self, step: int) -> float:
        """Return how often every example has been seen, in the mean, after `step` updates."""
        return self.ramp.before(step) / self.batches_per_epoch
