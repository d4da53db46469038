"""What the model puts in place of [MASK]."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from maskline.errors import UserError
from maskline.evaluation.inputs import encode_typed, to_inputs
from maskline.examples.batches import Batch
from maskline.examples.pairs import IGNORE
from maskline.model.heads import PretrainingModel
from maskline.tokenization.load import LoadedTokenizer, SpecialIds

MASK = "[MASK]"


class Fill(NamedTuple):
    """A token in place of a mask."""

    token: str
    probability: float
    text: str
    """The whole text with it; other masks stay."""


@torch.no_grad()
def mask_probabilities(
    model: PretrainingModel,
    input_ids: NDArray[Any],
    token_type_ids: NDArray[Any],
    special: SpecialIds,
    device: torch.device,
) -> NDArray[np.float32]:
    """Return how probable each token is at each of the M masks of one example, (M, V); without dropout.

    `input_ids` and `token_type_ids` are (T,), with the special tokens.
    """
    was_training = model.training
    model.eval()
    masks = np.flatnonzero(input_ids == special.mask)
    batch = Batch(
        input_ids=input_ids[None].astype(np.int64),
        token_type_ids=token_type_ids[None].astype(np.int64),
        attention_mask=np.ones((1, len(input_ids)), bool),
        masked_positions=masks,
        masked_labels=np.full(len(masks), IGNORE),
        next_sentence_label=np.full(1, IGNORE),
    )
    logits, _ = model(to_inputs(batch, device))
    probabilities: NDArray[np.float32] = logits.float().softmax(1).cpu().numpy()
    model.train(was_training)
    return probabilities


def ranking(probabilities: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return all tokens from the most probable on, (V,) -> (V,); equally probable ones by id."""
    return np.argsort(-probabilities, kind="stable")


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
