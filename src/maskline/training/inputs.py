"""A batch of examples on the device."""

import numpy as np
import torch

from maskline.examples.batches import PretrainingBatch
from maskline.model.heads import Inputs
from maskline.model.inputs import layout_of, move


def to_inputs(batch: PretrainingBatch, device: torch.device) -> Inputs:
    """Return a batch on `device` without its padding."""
    real = batch.attention_mask
    place = np.cumsum(real.ravel()) - 1  # of each real token among all of them
    return Inputs(
        input_ids=move(batch.input_ids[real], device),
        token_type_ids=move(batch.token_type_ids[real], device),
        layout=layout_of(real.sum(1), device),
        masked_positions=move(place[batch.masked_positions], device),
        masked_labels=move(batch.masked_labels, device),
        next_sentence_label=move(batch.next_sentence_label, device),
    )
