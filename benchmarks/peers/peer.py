"""The update that all peers share: forward, backward, clipping, AdamW, a linear schedule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

Batch = dict[str, Tensor]
Feature = dict[str, Any]
"""An unmasked example as a tokenizer of `transformers` returns it: `input_ids`, `token_type_ids` and
`special_tokens_mask`, lists of equal length, and `next_sentence_label`."""


def linear(step: int, steps: int, warmup_steps: int) -> float:
    """Return the factor of the learning rate at update `step` by `get_linear_schedule_with_warmup`."""
    if step < warmup_steps:
        return step / warmup_steps
    return max(0.0, (steps - step) / (steps - warmup_steps))


@dataclass(frozen=True)
class Recipe:
    """The hyperparameters of a peer."""

    peak_lr: float = 1e-4
    schedule: Callable[[int], float] = lambda step: linear(step, 10_000, 100)
    """Update, counted from 0 -> factor of `peak_lr`."""
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.01
    clip_norm: float | None = 1.0
    precision: Literal["fp32", "bf16"] = "fp32"


class Peer:
    """A model trained on features; a subclass has its own model, loss and batches."""

    def __init__(self, model: nn.Module, recipe: Recipe, device: torch.device, *, fused: bool | None) -> None:
        """Train `model` by `recipe` with AdamW; `fused` None is PyTorch's default."""
        self.model = model.to(device).train()
        self.recipe = recipe
        self.device = device
        groups = decayed(model, recipe.weight_decay)
        self.optimizer = torch.optim.AdamW(groups, recipe.peak_lr, recipe.betas, recipe.eps, fused=fused)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, recipe.schedule)

    def collate(self, features: Sequence[Feature]) -> Batch:
        """Return a masked batch of examples."""
        raise NotImplementedError

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss per masked token plus that per sentence pair (nats)."""
        raise NotImplementedError

    def update(self, features: Sequence[Feature]) -> float:
        """Take one optimizer update on a batch of examples and return its loss."""
        batch = {name: tensor.to(self.device) for name, tensor in self.collate(features).items()}
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.precision == "bf16"):
            loss = self.loss(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.recipe.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip_norm)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad()
        return loss.item()


def decayed(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return parameter groups in which matrices and embeddings decay, and biases and LayerNorm do not."""
    groups: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for parameter in model.parameters():
        groups[parameter.ndim >= 2].append(parameter)
    return [{"params": members, "weight_decay": weight_decay * decays} for decays, members in groups.items()]
