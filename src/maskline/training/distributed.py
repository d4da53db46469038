"""Several processes under torchrun: sums over all of them, and who tells an error."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous

from maskline.core.errors import UserError
from maskline.training.devices import choose_device
from maskline.training.settings import ComputeParams


def rank() -> int:
    """Return the number of this process among all, 0 outside torchrun."""
    return dist.get_rank() if dist.is_initialized() else 0


def ranks() -> int:
    """Return how many processes work together, 1 outside torchrun."""
    return dist.get_world_size() if dist.is_initialized() else 1


@contextmanager
def process_group(compute: ComputeParams) -> Iterator[torch.device]:
    """Yield the device to work on; join the other processes where torchrun started this one, leave them at the end.

    Of the errors that several processes have, or one has and the others feel, the first is raised. A process with a
    later one ends with exit code 1 and without a word.
    """
    if "WORLD_SIZE" not in os.environ:
        yield choose_device(compute)
        return
    store, number, count = next(iter(rendezvous("env://")))
    try:
        device = choose_device(compute, int(os.environ["LOCAL_RANK"]))
        backend = "nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=number, world_size=count)
        yield device
    except (UserError, OSError):
        if not _is_first(store):
            raise SystemExit(1) from None
        raise
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _is_first(store: Any) -> bool:
    """Return whether no process had an error before; an unreachable store ended with the process that had one."""
    try:
        return int(store.add("errors", 1)) == 1
    except RuntimeError:
        return False


def sum_over_ranks(values: Iterable[float], device: torch.device) -> list[float]:
    """Return each of `values` summed over all processes, which wait for each other."""
    if ranks() == 1:
        return list(values)
    # Float64 keeps token counts exact; no MPS device takes part in a group.
    tensor = torch.tensor(list(values), dtype=torch.float64, device=device)
    _all_reduce(tensor)
    summed: list[float] = tensor.tolist()
    return summed


def sum_gradients(model: nn.Module) -> None:
    """Replace every gradient by its sum over all processes, in one message; a process without one counts as zero.

    A parameter that has no gradient on any process keeps none, so that no optimizer touches it.
    """
    if ranks() == 1:
        return
    parameters = list(model.parameters())
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    there = torch.tensor([p.grad is not None for p in parameters], dtype=gradients[0].dtype, device=gradients[0].device)
    flat = torch.cat([*(gradient.flatten() for gradient in gradients), there])
    _all_reduce(flat)
    *sums, counts = torch.split(flat, [*(gradient.numel() for gradient in gradients), len(parameters)])
    for parameter, part, count in zip(parameters, sums, counts.tolist(), strict=True):
        parameter.grad = part.view_as(parameter) if count else None


def _all_reduce(tensor: Tensor) -> None:
    try:
        dist.all_reduce(tensor)
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"another process of this run has ended ({reason}): run the same command again") from None
