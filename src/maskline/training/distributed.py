"""Several processes under torchrun: sums over all of them, and nothing else."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn


def local_rank() -> int:
    """Return the number of this process on its machine, 0 outside torchrun."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def rank() -> int:
    """Return the number of this process among all, 0 outside torchrun."""
    return dist.get_rank() if dist.is_initialized() else 0


def ranks() -> int:
    """Return how many processes work together, 1 outside torchrun."""
    return dist.get_world_size() if dist.is_initialized() else 1


@contextmanager
def process_group(device: torch.device) -> Iterator[None]:
    """Join the other processes where torchrun started this one; leave them at the end."""
    if "WORLD_SIZE" not in os.environ:
        yield
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def sum_over_ranks(values: Iterable[float], device: torch.device) -> list[float]:
    """Return each of `values` summed over all processes."""
    if ranks() == 1:
        return list(values)
    # Float64 keeps token counts exact; no MPS device takes part in a group.
    tensor = torch.tensor(list(values), dtype=torch.float64, device=device)
    dist.all_reduce(tensor)
    summed: list[float] = tensor.tolist()
    return summed


def sum_gradients(model: nn.Module) -> None:
    """Replace every gradient by its sum over all processes, in one message; a process without one counts as zero."""
    if ranks() == 1:
        return
    gradients: list[Tensor] = []
    for parameter in model.parameters():
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        gradients.append(parameter.grad)
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    for gradient, part in zip(gradients, torch.split(flat, [g.numel() for g in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))
