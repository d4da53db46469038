"""From NumPy to the device."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskline.examples.batches import Batch
from maskline.model.attention import Layout
from maskline.model.heads import Inputs


def move(values: NDArray[Any] | Tensor, device: torch.device) -> Tensor:
    """Return an array or a tensor on `device`, copied while the device works on where that is possible."""
    tensor = torch.as_tensor(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def layout_of(lengths: NDArray[np.int64], device: torch.device) -> Layout:
    """Return where sequences of `lengths`, (B,), lie on `device` when they stand one after the other."""
    return Layout.of(torch.from_numpy(lengths)).map(lambda tensor: move(tensor, device))


def to_inputs(batch: Batch, device: torch.device) -> Inputs:
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
