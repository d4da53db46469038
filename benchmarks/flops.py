"""Floating-point operations: those of a training step, and the peak of the machine."""

# Dimensions: B batch, T sequence, D hidden, F intermediate, V vocabulary, M masked tokens.

from collections.abc import Callable

import torch

from benchmarks.measure import interleaved
from maskline.examples.batches import PretrainingBatch
from maskline.model.settings import ModelParams
from maskline.training.settings import Precision

SIZES = {"cpu": (1024, 2048, 4096), "cuda": (4096, 8192, 16384)}
"""Sizes of square matrices; the fastest product counts as the peak."""
TIMES = {"cpu": 1, "cuda": 10}
PROBES = 3
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def training_flops(params: ModelParams, vocab_size: int, batch: PretrainingBatch) -> float:
    """Return the operations of one training step: only those of matrix products, two for each multiply-add.

    The backward pass counts as two forward passes. Padding, positions without a label, and anything that an
    implementation computes a second time are not counted.
    """
    D, F, V, M = params.hidden, params.intermediate, vocab_size, len(batch.masked_labels)
    lengths = batch.attention_mask.sum(1)
    layer = 2 * lengths.sum() * (4 * D * D + 2 * D * F) + 4 * D * (lengths**2).sum()
    mlm = 2 * M * (D * D + D * V)
    nsp = 2 * len(lengths) * (D * D + 2 * D)
    return float(3 * (params.layers * layer + mlm + nsp))


def fastest_product(device: torch.device, precision: Precision) -> Callable[[], float]:
    """Return a function that computes the fastest square matrix product of `device` and returns its operations."""
    products = {str(size): _product(size, device, precision) for size in SIZES[device.type]}
    found = interleaved(products, "FLOP", repetitions=PROBES)
    return products[max(found, key=lambda size: found[size].median)]


def _product(size: int, device: torch.device, precision: Precision) -> Callable[[], float]:
    a, b = torch.randn(2, size, size, device=device, dtype=DTYPES[precision])

    def multiply() -> float:
        for _ in range(TIMES[device.type]):
            torch.mm(a, b)
        wait(device)
        return 2.0 * size**3 * TIMES[device.type]

    return multiply


def wait(device: torch.device) -> None:
    """Wait until `device` has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
