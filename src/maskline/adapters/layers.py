"""The parts that are added to an encoder: bottlenecks and low-rank changes."""

# Dimensions: N tokens, D hidden, I inputs of a matrix, O outputs of it, R rank.

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maskline.adapters.settings import Matrix, Placement, TuningParams
from maskline.model.heads import EncoderModel

DEVIATION = 0.01
"""Of the initial weights of a bottleneck, cut off at two of them (Houlsby et al. 2019, sec. 3.6): next to nothing is
added at the start."""
ACTIVATIONS: Mapping[Placement, nn.Module] = {"houlsby": nn.GELU(), "pfeiffer": nn.ReLU()}
"""Those of the authors' code."""


class Place(NamedTuple):
    """Where a matrix is that a low-rank change is for: one of several that a matrix of ours is stacked of."""

    module: str
    """In a layer."""
    number: int
    of: int


PLACES: Mapping[Matrix, Place] = {
    "query": Place("attention.qkv", 0, 3),
    "key": Place("attention.qkv", 1, 3),
    "value": Place("attention.qkv", 2, 3),
    "out": Place("attention.out", 0, 1),
    "up": Place("up", 0, 1),
    "down": Place("down", 0, 1),
}
"""The same in each of our architectures."""


class Bottleneck(nn.Module):
    """A few numbers made of each token, and what they give added to it (Houlsby et al. 2019, sec. 2.1)."""

    def __init__(self, hidden: int, size: int, activation: nn.Module) -> None:
        super().__init__()
        self.down = nn.Linear(hidden, size)
        self.activation = activation
        self.up = nn.Linear(size, hidden)

    def reset(self, generator: torch.Generator) -> None:
        """Draw initial weights, with which it hardly changes anything."""
        for part in (self.down, self.up):
            nn.init.trunc_normal_(part.weight, std=DEVIATION, a=-2 * DEVIATION, b=2 * DEVIATION, generator=generator)
            nn.init.zeros_(part.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Change x (N, D) -> (N, D)."""
        return x + self.up(self.activation(self.down(x)))  # type: ignore[no-any-return]


class LowRank(nn.Module):
    """A change of a matrix that is a product of two thin ones (Hu et al. 2022, sec. 4.1)."""

    def __init__(self, inputs: int, outputs: int, rank: int, scale: float) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.zeros(rank, inputs))
        self.b = nn.Parameter(torch.zeros(outputs, rank))
        self.scale = scale

    def reset(self, generator: torch.Generator) -> None:
        """Draw initial weights, with which it changes nothing: `b` is 0, `a` uniform as in peft."""
        edge = self.a.shape[1] ** -0.5
        nn.init.uniform_(self.a, -edge, edge, generator=generator)
        nn.init.zeros_(self.b)

    def forward(self, x: Tensor) -> Tensor:
        """Return what is added to the product of the matrix with x: (N, I) -> (N, O)."""
        return F.linear(F.linear(x, self.a), self.b) * self.scale


def insert(model: EncoderModel, params: TuningParams) -> None:
    """Freeze the encoder of `model`, and add what `params` trains, with weights that are still to be drawn or loaded.

    The names of what was there stay as they are. What has gradients from then on is what is trained and saved.
    """
    encoder = model.encoder
    head = _head(model)
    for name, weight in model.named_parameters():
        weight.requires_grad_(name in head)
    for layer in encoder.layers:
        if params.method == "lora":
            for matrix in params.matrices:
                _change(layer, matrix, params)
        elif params.method == "adapters":
            _add_bottlenecks(layer, encoder.params.hidden, params)


def _head(model: EncoderModel) -> set[str]:
    """Return the names of the weights of a head, of which the pooler is a part where it reads it."""
    names = {name for name, _ in model.named_parameters()}
    head = {name for name in names if not name.startswith("encoder.")}
    pooler = model.architecture.names.pooler if head and model.pooled else ()
    return head | {name for name in names if model.architecture.names.theirs(name)[0].startswith(pooler)}


def _add_bottlenecks(layer: nn.Module, hidden: int, params: TuningParams) -> None:
    """Add bottlenecks to a layer; of Houlsby's, its LayerNorms are trained as well."""
    if params.placement == "pfeiffer":
        _follow(layer, hidden, params)
        return
    for name in ("attention.out", "down"):
        _follow(layer.get_submodule(name), hidden, params)
    for part in layer.modules():
        if isinstance(part, nn.LayerNorm):
            part.requires_grad_()


def reset(model: EncoderModel, generator: torch.Generator) -> None:
    """Draw the initial weights of what `insert` added."""
    for part in model.modules():
        if isinstance(part, Bottleneck | LowRank):
            part.reset(generator)


def trained(model: EncoderModel) -> dict[str, Tensor]:
    """Return the weights that are trained, under Hugging Face's names, or ours where it has none."""
    found: dict[str, Tensor] = {}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            parts = model.architecture.names.theirs(name)
            found |= zip(parts, weight.chunk(len(parts)), strict=True)
    return {name: weight.detach().cpu().contiguous() for name, weight in found.items()}


def parameters(model: nn.Module) -> dict[str, int]:
    """Return how many numbers `model` has, and how many of them are trained."""
    sizes = [(weight.numel(), weight.requires_grad) for weight in model.parameters()]
    return {"parameters": sum(size for size, _ in sizes), "trained_parameters": sum(s for s, learns in sizes if learns)}


def _follow(module: nn.Module, hidden: int, params: TuningParams) -> None:
    """Let a bottleneck follow `module`. As a hook, so that the names of the module's own weights stay."""
    module.adapter = Bottleneck(hidden, params.bottleneck, ACTIVATIONS[params.placement])
    module.register_forward_hook(_through_adapter)


def _through_adapter(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:  # noqa: ARG001
    return cast("Tensor", module.adapter(output))  # type: ignore[operator]


def _change(layer: nn.Module, matrix: Matrix, params: TuningParams) -> None:
    """Add a low-rank change of `matrix` to a layer."""
    place = PLACES[matrix]
    linear = cast("nn.Linear", layer.get_submodule(place.module))
    if not hasattr(linear, "lora"):
        linear.lora = nn.ModuleDict()
        linear.register_forward_hook(_with_changes)
    pair = LowRank(linear.in_features, linear.out_features // place.of, params.rank, params.alpha / params.rank)
    cast("nn.ModuleDict", linear.lora)[matrix] = pair


def _with_changes(linear: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
    changes = {
        PLACES[cast("Matrix", name)]: pair(inputs[0]) for name, pair in cast("nn.ModuleDict", linear.lora).items()
    }
    of = next(iter(changes)).of
    parts = list(output.chunk(of, -1))
    for place, change in changes.items():
        parts[place.number] = parts[place.number] + change
    return torch.cat(parts, -1) if of > 1 else parts[0]
