"""Optimizers: AdamW, and Muon for the matrices of the layers."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from maskline.model.architecture import Encoder
from maskline.training.settings import OptimizerParams

_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
_NEWTON_SCHULZ_STEPS = 5
_MOMENTUM = 0.95  # the value of Jordan et al.
_EPS = 1e-7


class Muon(torch.optim.Optimizer):
    """Momentum whose update is made orthogonal (Jordan et al. 2024, "Muon"), with decoupled weight decay.

    Matrices of one shape, or of its transpose, are made orthogonal together, in a few large products. A parameter that
    stacks several matrices (query, key and value, say) is taken apart: `parts` in its group says how many it holds.
    """

    def __init__(
        self, groups: Iterable[dict[str, Any]], lr: float, momentum: float, weight_decay: float, precision: torch.dtype
    ) -> None:
        """Take the products that make an update orthogonal in `precision`, all else in that of the weights."""
        super().__init__(groups, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "parts": 1})
        self.precision = precision

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        assert closure is None
        by_shape: dict[tuple[int, ...], list[tuple[Tensor, Tensor, float]]] = {}
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                momentum = self._momentum(weight).lerp_(weight.grad, 1 - group["momentum"])
                update = torch.lerp(weight.grad, momentum, group["momentum"])  # Nesterov
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                for matrix, part in zip(weight.chunk(group["parts"]), update.chunk(group["parts"]), strict=True):
                    rows, columns = matrix.shape
                    scale = group["lr"] * max(1, rows / columns) ** 0.5
                    wide = (matrix, part, scale) if rows <= columns else (matrix.mT, part.mT, scale)
                    by_shape.setdefault(wide[0].shape, []).append(wide)
        for members in by_shape.values():
            orthogonal = orthogonalize(torch.stack([part for _, part, _ in members]).to(self.precision))
            for (matrix, _, scale), turned in zip(members, orthogonal, strict=True):
                matrix.sub_(turned, alpha=scale)

    def _momentum(self, weight: Tensor) -> Tensor:
        state = self.state[weight]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(weight)
        momentum: Tensor = state["momentum"]
        return momentum


def orthogonalize(matrices: Tensor) -> Tensor:
    """Replace the singular values of each matrix, (N, R, C) with R <= C, by numbers near 1 (Newton-Schulz, quintic)."""
    a, b, c = _NEWTON_SCHULZ
    x: Tensor = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + _EPS)
    for _ in range(_NEWTON_SCHULZ_STEPS):
        gram = torch.bmm(x, x.mT)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


def parameter_groups(model: nn.Module, params: OptimizerParams) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the groups for Muon and for AdamW; every trainable parameter is in exactly one.

    Muon, where it is asked for, takes the matrices of the encoder's layers. AdamW takes the rest, and decays matrices
    and embeddings but no bias and no LayerNorm: the rule is the number of dimensions, not the name.
    """
    stacked = {
        id(matrix): parts for part in model.modules() if isinstance(part, Encoder) for matrix, parts in part.stacks()
    }
    muon: dict[int, list[Tensor]] = {parts: [] for parts in sorted({1, *stacked.values()})}
    adamw: dict[bool, list[Tensor]] = {True: [], False: []}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if params.optimizer == "muon" and parameter.ndim == 2 and ".layers." in f".{name}":
            muon[stacked.get(id(parameter), 1)].append(parameter)
        else:
            adamw[parameter.ndim >= 2].append(parameter)
    return (
        [{"params": members, "parts": parts} for parts, members in muon.items() if members],
        [
            {"params": members, "weight_decay": params.weight_decay * decay}
            for decay, members in adamw.items()
            if members
        ],
    )


def build_optimizers(model: nn.Module, params: OptimizerParams) -> list[torch.optim.Optimizer]:
    """Return the optimizers of `model`: Muon if asked for, and AdamW (Loshchilov & Hutter 2019)."""
    muon, adamw = parameter_groups(model, params)
    optimizers: list[torch.optim.Optimizer] = []
    if muon:
        precision = torch.bfloat16 if params.precision == "bf16" else torch.float32
        optimizers.append(Muon(muon, params.matrix_lr, _MOMENTUM, params.weight_decay, precision))
    betas = (params.beta1, params.beta2)
    optimizers.append(torch.optim.AdamW(adamw, params.peak_lr, betas, params.eps, fused=True))
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak_lr"] = group["lr"]
    return optimizers
