"""Where the work is done: device, threads, precision, noise."""

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import torch
from torch import nn

from maskline.core.errors import UserError
from maskline.model.architecture import Encoder
from maskline.model.settings import ModelParams
from maskline.training.settings import ComputeParams, OptimizerParams, Precision

Recipe = TypeVar("Recipe", bound=OptimizerParams)
_CROWDED = 1.5
"""Load per core: an earlier stage of this pipeline leaves one of about 1."""
_BF16_INSTRUCTIONS = ("avx512_bf16", "amx_bf16")


def choose_device(compute: ComputeParams, local_rank: int = 0) -> torch.device:
    """Return the device that `compute.device` names; `auto` takes CUDA, then MPS, then the CPU.

    Sets the number of torch threads as well, which the bits of a result depend on.

    Raises:
        UserError: the device is not there.
    """
    if compute.threads:
        torch.set_num_threads(compute.threads)
    name = compute.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if name == "cuda" and torch.cuda.is_available():
        name = f"cuda:{local_rank}"
    device = torch.device(name)
    there = {
        "cpu": True,
        "mps": torch.backends.mps.is_available(),
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
    }
    if not there[device.type]:
        raise UserError(f"compute.device is {compute.device}, which this machine does not have: use auto or cpu")
    return device


def describe(device: torch.device) -> str:
    """Return the device in words."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return f"{device} ({torch.get_num_threads()} threads)" if device.type == "cpu" else str(device)


def crowding(device: torch.device) -> str | None:
    """Return what to do where other work takes the cores that the threads of this run need; None where none does."""
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    if device.type != "cpu" or torch.get_num_threads() == 1 or load <= _CROWDED * cores:
        return None
    return f"other work is at the {cores} cores (load {load:.1f}): a run with fewer compute.threads may be faster"


def choose_precision(precision: Precision, device: torch.device) -> Precision:
    """Return `precision`; for `auto` bf16 where the device multiplies it faster than float32, and fp32 elsewhere.

    A CPU without instructions for it takes several times as long in bf16 as in float32.
    """
    if precision != "auto":
        return precision
    if device.type == "cuda":
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        native = device.type == "cpu" and any(torch.cpu.get_capabilities().get(name) for name in _BF16_INSTRUCTIONS)
    return "bf16" if native else "fp32"


def with_precision(recipe: Recipe, device: torch.device) -> Recipe:
    """Return `recipe` with the precision that it gets on `device`."""
    return recipe.model_copy(update={"precision": choose_precision(recipe.precision, device)})


def check_memory(params: ModelParams, vocab_size: int) -> None:
    """Check that the weights of a model alone have room on this machine, before it is built.

    Raises:
        UserError: they have not.
    """
    weights = params.matrix_weights(vocab_size)
    needed, there = 4 * weights, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise UserError(
            f"the model of params.yaml has {weights:,} weights, which take {needed / 1e9:,.0f} GB, and this machine "
            f"has {there / 1e9:,.0f}: lower model.layers, model.hidden or model.intermediate"
        )


def place(model: nn.Module, compute: ComputeParams, device: torch.device) -> None:
    """Move `model` to `device`.

    Where `compute.compile` says so, torch.compile fuses what happens between the products of every layer, for batches
    of any size.
    """
    model.to(device)
    if compute.compile:
        for part in model.modules():
            if isinstance(part, Encoder):
                for layer in part.layers:
                    layer.compile(dynamic=True)


def choose_loaders(compute: ComputeParams, device: torch.device) -> int:
    """Return how many processes prepare batches: by default none on a CPU, whose cores the step itself keeps busy."""
    if compute.loaders is not None:
        return compute.loaders
    return min(4, os.cpu_count() or 1) if device.type == "cuda" else 0


def autocast(device: torch.device, precision: Precision) -> AbstractContextManager[None]:
    """Return the context in which a forward pass computes at `precision`; weights stay in float32."""
    assert precision != "auto", "with_precision comes first"
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


@contextmanager
def keyed_noise(device: torch.device, seed: int) -> Iterator[None]:
    """Enter a context whose dropout depends on `seed` alone and that leaves the global generators as they were."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


@contextmanager
def memory_explained() -> Iterator[None]:
    """Turn a lack of memory while training, of the device or of the host, into a `UserError` that says the way out.

    Where a CPU or MPS has not enough, torch raises a RuntimeError that its text alone tells from others.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not re.search(r"allocate memory|out of memory", str(error)):
            raise
        asked = re.search(r"allocate ([\d.]+ \w+)", str(error))
        raise UserError(
            f"out of memory{f' ({asked[1]} more)' if asked else ''}: lower micro_batch, which cuts a step into more "
            "parts, or max_seq_length"
        ) from None
