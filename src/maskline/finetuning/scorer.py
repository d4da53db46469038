"""What scores the batches of a kind by torch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskline.model.heads import EncoderModel
from maskline.model.modes import evaluating

B = TypeVar("B")


@dataclass(frozen=True)
class TorchScorer(Generic[B]):
    """The `Scorer` that a kind's `scores` is, without dropout. B is a batch of that kind."""

    model: EncoderModel
    device: torch.device
    scores: Callable[[EncoderModel, B, torch.device], Tensor]

    @torch.no_grad()
    def __call__(self, batch: B) -> NDArray[np.float32]:
        """Score a batch."""
        with evaluating(self.model):
            return self.scores(self.model, batch, self.device).cpu().numpy()
