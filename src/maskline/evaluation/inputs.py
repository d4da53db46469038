"""From NumPy to the device."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from maskline.examples.batches import Batch
from maskline.model.heads import Inputs


def move(array: NDArray[Any], device: torch.device) -> Tensor:
    """Return an array as a tensor on `device`, copied while the device works on where that is possible."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def to_inputs(batch: Batch, device: torch.device) -> Inputs:
    """Return a batch as tensors on `device`; a batch without padding needs no attention mask."""
    return Inputs(
        input_ids=move(batch.input_ids, device),
        token_type_ids=move(batch.token_type_ids, device),
        attention_mask=None if batch.attention_mask.all() else move(batch.attention_mask, device),
        masked_positions=move(batch.masked_positions, device),
        masked_labels=move(batch.masked_labels, device),
        next_sentence_label=move(batch.next_sentence_label, device),
    )
