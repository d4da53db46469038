"""How probable each token is in place of [MASK]."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from maskline.core.labels import IGNORE_INDEX
from maskline.examples.batches import PretrainingBatch
from maskline.model.heads import PretrainingModel
from maskline.model.modes import evaluating
from maskline.tokenization.load import SpecialIds
from maskline.training.inputs import to_inputs

MASK = "[MASK]"


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
    masks = np.flatnonzero(input_ids == special.mask)
    batch = PretrainingBatch(
        input_ids=input_ids[None].astype(np.int64),
        token_type_ids=token_type_ids[None].astype(np.int64),
        attention_mask=np.ones((1, len(input_ids)), bool),
        masked_positions=masks,
        masked_labels=np.full(len(masks), IGNORE_INDEX),
        next_sentence_label=np.full(1, IGNORE_INDEX),
    )
    with evaluating(model):
        logits, _ = model(to_inputs(batch, device))
    probabilities: NDArray[np.float32] = logits.float().softmax(1).cpu().numpy()
    return probabilities


def ranking(probabilities: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return all tokens from the most probable on, (V,) -> (V,); equally probable ones by id."""
    return np.argsort(-probabilities, kind="stable")
