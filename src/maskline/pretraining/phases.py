"""Batches of a pretraining run whose last updates have longer sequences (Devlin et al. 2019, appendix A.2)."""

import gc
from bisect import bisect_left
from collections.abc import Callable, Iterator

from maskline.examples.batches import PretrainingBatch, PretrainingBatches
from maskline.examples.draws import Bits
from maskline.examples.pairs import Segments
from maskline.pretraining.settings import PretrainParams
from maskline.tokenization.load import SpecialIds

_MOST_STEPS = 2**31


class Phases:
    """The batches of a pretraining run of two sequence lengths: update n is a function of n and the seed.

    The corpus is cut into windows for each length. Only the windows of one length are in memory: those of the update
    that was asked for last.

    Attributes:
        special: ids of the special tokens.
        counts: what `PairSource` counts for the first length and for the final one.
        switch: the first update, counted from 0, with sequences of the final length.
    """

    def __init__(self, build: Callable[[int], PretrainingBatches], recipe: PretrainParams) -> None:
        """Take `build`, which returns the batches of one sequence length, their updates counted from 0."""
        assert recipe.final_seq_length is not None
        self._build = build
        self._recipe = recipe
        self._lengths = (recipe.max_seq_length, recipe.final_seq_length)
        self._in_memory: tuple[int, PretrainingBatches] | None = None
        # Both are built once to be counted. The run begins with the first length, so that one is built last and stays.
        final = self._of_length(self._lengths[1])
        final_counts, final_clock = final.counts, final.clock
        del final
        first = self._of_length(self._lengths[0])
        self.special: SpecialIds = first.special
        self.counts = first.counts + final_counts
        self._clocks = (first.clock, final_clock)
        self.switch = recipe.lengthens_at(recipe.total_steps(self.updates))

    def updates(self, epochs: int) -> int:
        """Return how many updates, of both lengths together, it takes to see all text `epochs` times."""

        def seen(steps: int) -> float:
            return self._seen(steps, self._recipe.lengthens_at(steps))

        return bisect_left(range(_MOST_STEPS), float(epochs), key=seen)

    def epochs(self, step: int) -> float:
        """Return how often the text has been seen, on average, after `step` updates."""
        return self._seen(step, self.switch)

    def _seen(self, step: int, switch: int) -> float:
        first, final = self._clocks
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

    def segments_and_keys(self, step: int) -> tuple[Segments, Bits]:
        """Return the examples of update `step`, counted from 0, in order of length, and the keys of their masks."""
        batches, number, _ = self._at(step)
        return batches.segments_and_keys(number)

    def microbatches(
        self, step: int, rate: float, micro_batch: int, rank: int = 0, ranks: int = 1
    ) -> list[PretrainingBatch]:
        """Return the batches of update `step`, counted from 0, that process `rank` of `ranks` trains on.

        A share `rate` of the tokens is masked. A microbatch of longer sequences has fewer of them, so that it has as
        many tokens, and a step needs as much memory, as before.
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
        if self._in_memory is None or self._in_memory[0] != length:
            # Free the former tables before others are built. An `Order` and its cache refer to each other, so only
            # the garbage collector frees them.
            self._in_memory = None
            gc.collect()
            self._in_memory = (length, self._build(length))
        return self._in_memory[1]
