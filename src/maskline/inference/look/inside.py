"""What an encoder computes on the way: the weights of its attention, and the vectors between its layers."""

# Dimensions: T tokens of one sequence, D hidden, H heads, K = D / H, L layers.

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from maskline.model.architecture import Encoder
from maskline.model.inputs import layout_of, move
from maskline.model.modes import evaluating


@dataclass(frozen=True)
class Inside:
    """What an encoder computes of one sequence."""

    attention: NDArray[np.float32]
    """(L, H, T, T) how much a token, the row, takes of each token, the column; a row sums to 1."""
    vectors: NDArray[np.float32]
    """(L + 1, T, D) what the first layer reads, then what each layer gives; the last are what a head reads."""


@torch.inference_mode()
def look_inside(
    encoder: Encoder, input_ids: NDArray[np.int64], token_type_ids: NDArray[np.int64], device: torch.device
) -> Inside:
    """Return what `encoder` computes of one sequence, (T,) ids and types, in float32 and without dropout."""
    vectors: list[Tensor] = []
    reads: list[tuple[nn.Module, tuple[Any, ...]]] = []

    def keep_input(_: nn.Module, arguments: tuple[Any, ...]) -> None:
        vectors.append(arguments[0])

    def keep_arguments(attention: nn.Module, arguments: tuple[Any, ...]) -> None:
        reads.append((attention, arguments))

    hooks = [layer.register_forward_pre_hook(keep_input) for layer in encoder.layers]
    hooks += [layer.get_submodule("attention").register_forward_pre_hook(keep_arguments) for layer in encoder.layers]
    with evaluating(encoder):
        try:
            layout = layout_of(np.array([len(input_ids)]), device)
            vectors.append(encoder(move(input_ids, device), move(token_type_ids, device), layout))
        finally:
            for hook in hooks:
                hook.remove()
        weights = [attention_weights(*read, encoder.params.heads) for read in reads]
    return Inside(torch.stack(weights).cpu().numpy(), torch.stack(vectors).cpu().numpy())


def attention_weights(attention: nn.Module, arguments: tuple[Any, ...], heads: int) -> Tensor:
    """Return the weights with which a module of attention mixes the tokens of one sequence, (H, T, T).

    Attention is linear in its values: of values that are unit vectors, it gives its weights. So these are the weights
    that the module works with, whatever it does to queries and keys.

    Args:
        attention: in evaluation mode; it stacks query, key and value in `qkv`, and `out` reads what was mixed.
        arguments: what `forward` is given; the first are the vectors, (T, D).
        heads: H.
    """
    T, D = arguments[0].shape
    K = D // heads
    units = F.pad(torch.eye(T, device=arguments[0].device), (0, -T % K))
    mixed: list[Tensor] = []
    for unit in torch.split(units, K, 1):  # a value has K numbers: it shows that many tokens at a time
        values = unit.repeat(1, heads)

        def give_values(_: nn.Module, __: Any, qkv: Tensor, values: Tensor = values) -> Tensor:
            return torch.cat([qkv[:, : 2 * D], values], 1)

        def keep_mixed(_: nn.Module, arguments: tuple[Tensor]) -> None:
            mixed.append(arguments[0].view(T, heads, K))

        hooks = (
            attention.get_submodule("qkv").register_forward_hook(give_values),
            attention.get_submodule("out").register_forward_pre_hook(keep_mixed),
        )
        try:
            attention(*arguments)
        finally:
            for hook in hooks:
                hook.remove()
    return torch.cat(mixed, 2)[..., :T].transpose(0, 1)
