"""From NumPy to the device."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskline.model.attention import Layout


def move(values: NDArray[Any] | Tensor, device: torch.device) -> Tensor:
    """Return an array or a tensor on `device`, copied while the device works on where that is possible."""
    tensor = torch.as_tensor(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def layout_of(lengths: NDArray[np.int64], device: torch.device) -> Layout:
    """Return where sequences of `lengths`, (B,), lie on `device` when they stand one after the other."""
    return Layout.of(torch.from_numpy(lengths)).map(lambda tensor: move(tensor, device))
