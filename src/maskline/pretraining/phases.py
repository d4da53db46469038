"""Batches of a run whose last updates see longer sequences (Devlin et al. 2019, appendix A.2)."""

import gc
from bisect import bisect_left
from collections.abc import Callable, Iterator

from maskline.examples.batches import Batch, PretrainingBatches
from maskline.examples.draws import Bits
from maskline.examples.pairs import Segments
from maskline.pretraining.settings import PretrainParams
from maskline.tokenization.load import SpecialIds

_MOST_STEPS = 2**31


class Phases:
    """The batches of a pretraining run of two sequence lengths: update n is a function of n and the seed.

    For each length the corpus is cut into windows of its own, and those of the update that was asked for last are the
    only ones in memory.

    Attributes:
        special: ids of the special tokens.
        counts: what PairSource counts at either length.
        switch: the first update, counted from 0, of the longer sequences.
    """

    def __init__(self, cut: Callable[[int], PretrainingBatches], recipe: PretrainParams) -> None:
        """Take `cut`, which returns the batches of one sequence length, by their own update numbers."""
        assert recipe.final_seq_length is not None
        self._cut = cut
        self._recipe = recipe
        self._lengths = (recipe.max_seq_length, recipe.final_seq_length)
        self._held: tuple[int, PretrainingBatches] | None = None
        # Each is cut once to be counted; the longer one before the other, with which the run begins.
        final = self._of_length(self._lengths[1])
        final_counts, final_pace = final.counts, final.pace
        del final
        first = self._of_length(self._lengths[0])
        self.special: SpecialIds = first.special
        self.counts = first.counts + final_counts
        self._paces = (first.pace, final_pace)
        self.switch = recipe.lengthens_at(recipe.total_steps(self.updates))

    def updates(self, epochs: int) -> int:
        """Return how many updates see every example `epochs` times, the share of the longer ones included."""

        def seen(steps: int) -> float:
            return self._seen(steps, self._recipe.lengthens_at(steps))

        return bisect_left(range(_MOST_STEPS), float(epochs), key=seen)

    def epochs(self, step: int) -> float:
        """Return how often all text has been seen, in the mean, after `step` updates."""
        return self._seen(step, self.switch)

    def _seen(self, step: int, switch: int) -> float:
        first, final = self._paces
        return first.epochs(min(step, switch)) + final.epochs(max(0, step - switch))

    def update_ranges(self, first: int, steps: int) -> Iterator[range]:
        """Yield the updates `first` to `steps` - 1 in ranges of one length, whose windows are in memory by then.

        So a process forked for a range shares them, and none has to make its own.
        """
        for length, updates in zip(
            self._lengths, (range(first, min(self.switch, steps)), range(max(first, self.switch), steps)), strict=True
        ):
            if updates:
                self._of_length(length)
                yield updates

    def length(self, step: int) -> int:
        """Return the most tokens of a sequence of update `step`, counted from 0."""
        return self._lengths[step >= self.switch]

    def examples(self, step: int) -> tuple[Segments, Bits]:
        """Return the examples of update `step`, counted from 0, in order of length, and the keys of their masks."""
        batches, number, _ = self._at(step)
        return batches.examples(number)

    def microbatches(self, step: int, rate: float, micro_batch: int, rank: int = 0, ranks: int = 1) -> list[Batch]:
        """Return the batches of update `step`, counted from 0, that process `rank` of `ranks` works on.

        A share `rate` of the tokens is masked. Longer sequences come as many fewer at once, so that a microbatch, and
        with it the memory of a step, has as many tokens as before.
        """
        batches, number, length = self._at(step)
        fewer = max(1, micro_batch * self._lengths[0] // length)
        return batches.microbatches(number, rate, fewer, rank, ranks)

    def _at(self, step: int) -> tuple[PretrainingBatches, int, int]:
        """Return the batches that update `step` belongs to, its number among them, and their sequence length."""
        length = self.length(step)
        number = step if step < self.switch else step - self.switch
        return self._of_length(length), number, length

    def _of_length(self, length: int) -> PretrainingBatches:
        if self._held is None or self._held[0] != length:
            self._held = None  # the former tables go before there are others,
            gc.collect()  # those of an order too, whose cache refers to it
            self._held = (length, self._cut(length))
        return self._held[1]
