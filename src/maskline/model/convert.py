"""Conversion of weights and configuration from and to Hugging Face's BERT (`transformers.BertForPreTraining` etc.)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from maskline.model.bert import SEGMENTS
from maskline.model.heads import EncoderModel
from maskline.model.settings import ModelParams

_HIDDEN_ACT = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}

# Ours, Hugging Face's. A layer's number is captured; qkv, one matrix of ours and three of theirs, is apart. The head of
# a task has their name already.
_NAMES = [
    ("encoder.embeddings.token", "bert.embeddings.word_embeddings"),
    ("encoder.embeddings.position", "bert.embeddings.position_embeddings"),
    ("encoder.embeddings.segment", "bert.embeddings.token_type_embeddings"),
    ("encoder.embeddings.norm", "bert.embeddings.LayerNorm"),
    ("encoder.layers.#.attention.out", "bert.encoder.layer.#.attention.output.dense"),
    ("encoder.layers.#.attention_norm", "bert.encoder.layer.#.attention.output.LayerNorm"),
    ("encoder.layers.#.up", "bert.encoder.layer.#.intermediate.dense"),
    ("encoder.layers.#.down", "bert.encoder.layer.#.output.dense"),
    ("encoder.layers.#.output_norm", "bert.encoder.layer.#.output.LayerNorm"),
    ("encoder.pooler", "bert.pooler.dense"),
    ("mlm.decoder", "cls.predictions.decoder"),
    ("mlm.transform", "cls.predictions.transform.dense"),
    ("mlm.norm", "cls.predictions.transform.LayerNorm"),
    ("nsp", "cls.seq_relationship"),
]
_QKV = ("encoder.layers.#.attention.qkv", "bert.encoder.layer.#.attention.self.{}")
_BIAS = ("mlm.decoder.bias", "cls.predictions.bias")


def to_hugging_face(model: EncoderModel) -> dict[str, Tensor]:
    """Return the weights of `model` under Hugging Face's names; a tied decoder is there once, as the embedding."""
    theirs: dict[str, Tensor] = {}
    for name, tensor in model.named_parameters():  # gives a tied parameter once
        names = _theirs(name)
        theirs |= zip(names, tensor.chunk(len(names)), strict=True)
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
            names = _theirs(name)
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
        ValueError: there are more or fewer layers, or one of the sizes is another.
    """
    layers = sum(
        re.fullmatch(r"bert\.encoder\.layer\.\d+\.intermediate\.dense\.weight", name) is not None for name in theirs
    )
    if layers != params.layers:
        raise ValueError(f"its weights have {layers} layers, its config {params.layers}")
    for name, size in (
        ("embeddings.word_embeddings", vocab_size),
        ("embeddings.position_embeddings", params.max_positions),
        ("encoder.layer.0.intermediate.dense", params.intermediate),
    ):
        found = tuple(theirs[f"bert.{name}.weight"].shape)
        if found != (size, params.hidden):
            raise ValueError(f"{name} is {found}, and by its config {(size, params.hidden)}")


def _theirs(name: str) -> list[str]:
    """Return Hugging Face's names of our weight `name`: one, or three for query, key and value."""
    if name == _BIAS[0]:
        return [_BIAS[1]]
    if target := _rename(name, *_QKV):
        return [target.format(part) for part in ("query", "key", "value")]
    return [next((target for ours, hf in _NAMES if (target := _rename(name, ours, hf))), name)]


def _rename(name: str, ours: str, theirs: str) -> str | None:
    """Return `name` with the module prefix `ours` replaced by `theirs`; None if it has another prefix."""
    match = re.fullmatch(re.escape(ours).replace(r"\#", r"(\d+)") + r"\.(weight|bias)", name)
    if match is None:
        return None
    *layer, kind = match.groups()
    return f"{theirs.replace('#', layer[0]) if layer else theirs}.{kind}"


def config(params: ModelParams, vocab_size: int, architecture: str) -> dict[str, Any]:
    """Return the content of a config.json with which Hugging Face's `architecture` computes the same as our model.

    The key `mlm_head` is ours. It is set where Hugging Face has no such head, so that only the encoder is the same.
    """
    return {
        "architectures": [architecture],
        "model_type": "bert",
        "vocab_size": vocab_size,
        "num_hidden_layers": params.layers,
        "hidden_size": params.hidden,
        "num_attention_heads": params.heads,
        "intermediate_size": params.intermediate,
        "hidden_act": _HIDDEN_ACT[params.activation],
        "hidden_dropout_prob": params.dropout,
        "attention_probs_dropout_prob": params.dropout,
        "max_position_embeddings": params.max_positions,
        "type_vocab_size": SEGMENTS,
        "layer_norm_eps": params.layer_norm_eps,
        "initializer_range": params.initializer_range,
        "pad_token_id": 0,
        "tie_word_embeddings": True,
        **({} if params.mlm_head == "bert" else {"mlm_head": params.mlm_head}),
    }


def model_params(config: Mapping[str, Any]) -> ModelParams:
    """Return the architecture that a config.json of Hugging Face's BERT describes.

    Raises:
        ValueError: the activation is none of ours.
    """
    activation = {theirs: ours for ours, theirs in _HIDDEN_ACT.items()}.get(config["hidden_act"])
    if activation is None:
        raise ValueError(f"hidden_act {config['hidden_act']} is none of {', '.join(_HIDDEN_ACT.values())}")
    return ModelParams.model_validate(
        {
            "layers": config["num_hidden_layers"],
            "hidden": config["hidden_size"],
            "heads": config["num_attention_heads"],
            "intermediate": config["intermediate_size"],
            "activation": activation,
            "dropout": config["hidden_dropout_prob"],
            "max_positions": config["max_position_embeddings"],
            "layer_norm_eps": config["layer_norm_eps"],
            "mlm_head": config.get("mlm_head", "bert"),
            "initializer_range": config["initializer_range"],
            # A config says nothing of initial weights, and none are drawn from these.
            "position_init": "normal",
            "position_base": 1.0,
            "position_scale": 1.0,
            "matched_heads": 0,
        }
    )
