"""Conversion of weights from and to Hugging Face's names, for any architecture."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from maskline.model.architecture import architecture_of
from maskline.model.heads import EncoderModel
from maskline.model.settings import ModelParams


def to_hugging_face(model: EncoderModel) -> dict[str, Tensor]:
    """Return the weights of `model` under Hugging Face's names; a tied decoder is there once, as the embedding."""
    names = model.architecture.names
    theirs: dict[str, Tensor] = {}
    for name, tensor in model.named_parameters():  # gives a tied parameter once
        parts = names.theirs(name)
        theirs |= zip(parts, tensor.chunk(len(parts)), strict=True)
    return {name: tensor.detach().cpu().contiguous() for name, tensor in theirs.items()}


@dataclass(frozen=True)
class Fit:
    """How the weights of a file fitted a model."""

    missing: list[str]
    """Hugging Face's names that the model has and the file has not: these weights keep their value."""
    left_over: list[str]
    """Names that the file has and the model has not."""


def from_hugging_face(model: EncoderModel, theirs: Mapping[str, Tensor]) -> Fit:
    """Copy weights under Hugging Face's names into `model`.

    Raises:
        ValueError: a weight has another shape than the model's.
    """
    missing, used = [], set()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            names = model.architecture.names.theirs(name)
            if absent := [part for part in names if part not in theirs]:
                missing += absent
                continue
            used |= set(names)
            found = torch.cat([theirs[part] for part in names])
            if found.shape != tensor.shape:
                raise ValueError(f"{names[0]} is {tuple(found.shape)}, and the model's is {tuple(tensor.shape)}")
            tensor.copy_(found)
    return Fit(missing, sorted(theirs.keys() - used))


def check_sizes(params: ModelParams, vocab_size: int, theirs: Mapping[str, Tensor]) -> None:
    """Check that weights under Hugging Face's names are those of `params`, before a model of its size is built.

    Raises:
        KeyError: a weight that shows a size is missing.
        ValueError: there are more or fewer layers, or one of the sizes is another.
    """
    architecture = architecture_of(params.architecture)
    if (layers := architecture.names.layers(theirs)) != params.layers:
        raise ValueError(f"its weights have {layers} layers, its config {params.layers}")
    for name, expected in architecture.sizes(params, vocab_size).items():
        if (found := tuple(theirs[name].shape)) != expected:
            short = name.removeprefix(architecture.names.encoder).removesuffix(".weight")
            raise ValueError(f"{short} is {found}, and by its config {expected}")
