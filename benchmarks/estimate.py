"""Estimate the hours and memory of the preset bert-base on a node of eight GPUs; nothing is measured.

    python -m benchmarks.estimate

Operations are those of `flops`, for examples of the greatest length. Memory is that of all tensors that a step keeps;
tests/benchmarks/test_estimate.py compares the activations with what autograd saves.
"""

# Dimensions: T sequence, D hidden, F intermediate, H heads.

import sys
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.flops import training_flops
from maskline.examples.batches import PretrainingBatch
from maskline.model.heads import PretrainingModel
from maskline.model.settings import ModelParams
from maskline.settings.files import merge, read_yaml
from maskline.settings.params import PARAMS, Params, parse

PRESET = PARAMS.with_name("presets") / "bert-base.yaml"
GPUS = 8
PEAKS = {"A100": 312e12, "H100": 989e12}
"""Operations per second of dense bfloat16 products, of the SXM models, from NVIDIA's data sheets."""
UTILIZATION = 0.3
"""Assumed share of the peak that training reaches."""
COPIES = {
    "weights": 4,
    "gradients": 4,
    "two moments of AdamW": 8,
    "weights of the best score": 4,
    "sum of the gradients over all GPUs": 4,
    "weights in bfloat16, for products": 2,
}
"""Bytes per parameter."""
STATE_BYTES = 16
"""Bytes per parameter in a saved state: weights, best weights and moments."""


def main() -> None:
    """Print both tables in Markdown."""
    params = parse(merge(read_yaml(PARAMS), read_yaml(PRESET)) | {"tasks": {}}, {})
    sys.stdout.write("\n".join([*hours(params), "", *memory(params), ""]))


def hours(params: Params) -> Iterator[str]:
    """Yield the rows of operations and hours: for each sequence length, and for both together."""
    steps, switch = params.pretrain.steps or 0, params.pretrain.lengthens_at(params.pretrain.steps or 0)
    yield f"| sequences | updates | tokens | operations | {' | '.join(f'{GPUS} {name}' for name in PEAKS)} |"
    yield "|---|--:|--:|--:|" + "--:|" * len(PEAKS)
    total = np.zeros(3)
    final = params.pretrain.final_seq_length or params.pretrain.max_seq_length
    for length, updates in ((params.pretrain.max_seq_length, switch), (final, steps - switch)):
        batch = full_batch(params.pretrain.global_batch, length, params.masking.rate)
        flops = training_flops(params.model, params.tokenizer.vocab_size, batch)
        row = updates * np.array([1, batch.tokens, flops])
        total += row
        yield _hours_row(f"of {length}", row)
    yield _hours_row("all", total)


def _hours_row(name: str, row: NDArray[np.float64]) -> str:
    updates, tokens, flops = row.tolist()
    spent = [f"{flops / (GPUS * peak * UTILIZATION) / 3600:.1f} h" for peak in PEAKS.values()]
    return f"| {name} | {updates:,.0f} | {tokens / 1e9:.1f} billion | {flops:.2g} | {' | '.join(spent)} |"


def full_batch(examples: int, length: int, rate: float) -> PretrainingBatch:
    """Return a batch of `examples` pairs of `length` tokens; all ids are 0."""
    masked = np.zeros(examples * round(rate * (length - 3)), np.int64)  # [CLS] and both [SEP] are never masked
    ids = np.zeros((examples, length), np.int64)
    return PretrainingBatch(ids, ids, np.ones_like(ids, bool), masked, masked, np.zeros(examples, np.int64))


def memory(params: Params) -> Iterator[str]:
    """Yield the rows of bytes on each GPU, and of the bytes of a saved state."""
    with torch.device("meta"):
        model = PretrainingModel(params.model, params.tokenizer.vocab_size)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    tokens = params.pretrain.micro_batch * params.pretrain.max_seq_length
    activations = params.model.layers * activation_bytes(params.model) * tokens
    yield "| on each GPU | bytes | GB |"
    yield "|---|--:|--:|"
    for name, each in COPIES.items():
        yield f"| {name} | {each} x {parameters:,} | {each * parameters / 1e9:.2f} |"
    per_token = f"{activations // tokens:,} x {tokens:,}"
    yield f"| activations of a microbatch, for each token | {per_token} | {activations / 1e9:.2f} |"
    total = sum(COPIES.values()) * parameters + activations
    yield f"| all of these | | {total / 1e9:.2f} |"
    saved = f"{STATE_BYTES} x {parameters:,} | {STATE_BYTES * parameters / 1e9:.2f}"
    yield f"| in the memory of the first process, while a state is saved | {saved} |"


def activation_bytes(params: ModelParams, length: int = 0) -> int:
    """Return the bytes per token that a layer keeps for the backward pass, in bfloat16 with dropout.

    In float32: both sums before LayerNorm. In bfloat16: the inputs of the three products of D columns, both dropout
    masks, query, key and value, and F columns before and after the activation. On a CPU, where attention is computed by
    matrix products, sequences of `length` tokens also keep three weights for each head and pair of tokens.
    """
    D, F, H = params.hidden, params.intermediate, params.heads
    return 4 * 2 * D + 2 * (5 + 3) * D + 2 * 2 * F + 2 * 3 * H * length


if __name__ == "__main__":
    main()
