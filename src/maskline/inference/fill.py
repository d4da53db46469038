"""What a pretrained model puts in place of [MASK] in a text that somebody typed."""

from typing import NamedTuple

import numpy as np
import torch

from maskline.core.errors import UserError
from maskline.evaluation.masks import MASK, mask_probabilities, ranking
from maskline.inference.typed import encode_typed
from maskline.model.heads import PretrainingModel
from maskline.tokenization.load import LoadedTokenizer


class Fill(NamedTuple):
    """A token in place of a mask."""

    token: str
    probability: float
    text: str
    """The whole text with it; other masks stay."""


def fill_masks(
    model: PretrainingModel, tokenizer: LoadedTokenizer, text: str, top: int, device: torch.device
) -> list[list[Fill]]:
    """Return the `top` most probable tokens for each [MASK] in `text`.

    Raises:
        UserError: `text` has no [MASK], is longer than the model reads, or came as bytes that are not UTF-8.
    """
    parts = text.split(MASK)
    if len(parts) == 1:
        raise UserError(f'there is no {MASK} to fill: write one where a word is missing, as in "The sky is {MASK}."')
    longest = model.encoder.params.max_positions
    ids = np.array(encode_typed(tokenizer, longest, text.replace(MASK, tokenizer.mask_token)).ids)
    probabilities = mask_probabilities(model, ids, np.zeros_like(ids), tokenizer.special, device)
    return [
        [
            Fill(tokenizer.pieces[token], float(row[token]), _insert(parts, mask, tokenizer, int(token)))
            for token in ranking(row)[:top]
        ]
        for mask, row in enumerate(probabilities)
    ]


def _insert(parts: list[str], mask: int, tokenizer: LoadedTokenizer, token: int) -> str:
    """Return the text between masks with `token` in place of mask number `mask`; a continuing one joins its word."""
    before, after = MASK.join(parts[: mask + 1]), MASK.join(parts[mask + 1 :])
    piece = tokenizer.pieces[token]
    continued = tokenizer.continued(piece)
    return before + piece + after if continued is None else before.rstrip() + continued + after
