"""Masking for the masked language model (Devlin et al. 2019, sec. 3.1 and appendix A.1)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.examples.draws import Bits, below, draw, uniform
from maskline.examples.settings import MaskingRates
from maskline.tokenization.load import SpecialIds

_PICK, _REPLACE, _TOKEN = range(3)


class Masker:
    """Choose the tokens to predict, and what the model sees in their place.

    In an example with n ordinary tokens, max(1, round(rate * n)) of them are picked. Of the picked tokens, a share
    `mask` becomes [MASK], a share `random` becomes a random ordinary token, and the rest stays. Special tokens are
    never picked and never drawn.

    With `continues` whole words are picked: all pieces of a word or none. Words are taken in random order, as long as
    each brings the number of tokens nearer to that share, and at least one word is.
    """

    def __init__(
        self, rates: MaskingRates, special: SpecialIds, vocab_size: int, continues: NDArray[np.bool_] | None = None
    ) -> None:
        """Take `continues`, (V,), True = the token continues a word; None: each token is a word."""
        self._continues = continues
        self.rates = rates
        self.mask_id = special.mask
        self.vocab_size = vocab_size
        self._special = np.zeros(vocab_size, bool)
        self._special[list(special)] = True
        self._ordinary = np.flatnonzero(~self._special)

    def __call__(self, input_ids: NDArray[Any], keys: Bits, rate: float) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Mask a padded batch.

        Args:
            input_ids: (B, T) token ids, padded with [PAD].
            keys: (B,) one key per example; what is drawn for a position depends on key and position alone.
            rate: the share to pick. A larger share includes the tokens that a smaller one picks.

        Returns:
            The masked ids, (B, T), and the positions of the picked tokens in the flattened batch, (M,) ascending.
        """
        ordinary = ~self._special[input_ids]
        keys = keys[:, None]
        columns = np.arange(input_ids.shape[1])
        order = draw(draw(keys, np.full(1, _PICK)), columns)
        order[~ordinary] = np.iinfo(np.uint64).max
        picks = np.maximum(1, np.floor(ordinary.sum(1) * rate + 0.5)).astype(np.int64)
        if self._continues is None:
            last = np.take_along_axis(np.sort(order, axis=1), picks[:, None] - 1, 1)
            picked = order <= last
        else:
            picked = self._whole_words(input_ids, order, picks)
        rows, places = np.nonzero(picked & ordinary)

        choice = uniform(draw(draw(keys, np.full(1, _REPLACE))[rows, 0], places))
        token = self._ordinary[below(draw(draw(keys, np.full(1, _TOKEN))[rows, 0], places), len(self._ordinary))]
        shown = input_ids.copy()
        replaced = np.where(choice < self.rates.mask + self.rates.random, token, input_ids[rows, places])
        shown[rows, places] = np.where(choice < self.rates.mask, self.mask_id, replaced)
        return shown, rows * input_ids.shape[1] + places

    def _whole_words(self, input_ids: NDArray[Any], order: Bits, picks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which tokens are picked, (B, T): the words of a row come in the `order` of their first tokens."""
        assert self._continues is not None
        begins = ~self._continues[input_ids] | self._special[input_ids]
        begins[:, 1:] |= self._special[input_ids[:, :-1]]  # a segment that begins inside a word
        word = np.maximum.accumulate(
            np.where(begins, np.arange(input_ids.shape[1]), 0), axis=1
        )  # (B, T) its first place
        of_word = np.take_along_axis(order, word, 1)
        ranked = np.sort(of_word, axis=1)
        before, through = (
            np.stack([np.searchsorted(row, values, side) for row, values in zip(ranked, of_word, strict=True)])
            for side in ("left", "right")
        )
        # Up to the middle of a word, on the line of all tokens, it is nearer to take it than to leave it. Where both
        # are as near, a random bit decides, or the share would grow.
        middle, wanted = before + through, 2 * picks[:, None]
        picked: NDArray[np.bool_] = (before == 0) | (middle < wanted) | ((middle == wanted) & (of_word % 2 == 0))
        return picked
