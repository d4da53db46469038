"""From a BERT of others to a model directory of this pipeline."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from maskline.core.errors import UserError, one_line
from maskline.core.storage import MANIFEST, read_json, sha256
from maskline.imports.files import Found, open_model
from maskline.imports.settings import ImportParams
from maskline.model.bert.convert import ENCODER, MLM, NSP, POOLER, config, model_params
from maskline.model.bert.encoder import SEGMENTS
from maskline.model.bert.settings import Settings as BertParams
from maskline.model.convert import check_sizes, from_hugging_face
from maskline.model.directory import CONFIG, WEIGHTS, TokenizerFiles, export, model_card
from maskline.model.heads import EncoderModel, PretrainingModel
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.model_files import files_for_model
from maskline.tokenization.special import KINDS
from maskline.vocabulary.pretrained import load_pretrained
from maskline.vocabulary.save import save_pretrained
from maskline.vocabulary.settings import PretrainedTokenizer

_TIED = f"{MLM}decoder."
"""The decoder, which is the token embedding and the bias `cls.predictions.bias` once more."""
_HEAD = {
    f"{MLM}{name}"
    for name in (
        "bias",
        *(f"transform.{part}.{kind}" for part in ("dense", "LayerNorm") for kind in ("weight", "bias")),
    )
}
"""The head for masked tokens; where a part of it is missing, or its decoder is not the embedding, it is left out."""
_RENAMED = {".gamma": ".weight", ".beta": ".bias"}
"""What LayerNorm's weights were called in the first releases."""
_BUFFERS = ("bert.embeddings.position_ids",)
"""Numbers that nothing learned, which old releases saved."""


@dataclass(frozen=True)
class Imported:
    """What became of a model of others."""

    name: str
    params: BertParams
    vocab_size: int
    architecture: str
    left_out: list[str]
    """Names of weights that have no place in our model: heads of tasks, mostly."""
    missing: list[str]
    """Names of weights that ours has and theirs has not: the pooler may be missing, and the head for sentence pairs."""


def import_encoder(params: ImportParams, model: Path, tokenizer: Path, language: str) -> Imported:
    """Write the encoder of `params` to `model`, and its tokenizer to `tokenizer`, both new directories.

    Beside the tokenizer lies the config of the encoder, so that the same network can be made from random weights.

    Raises:
        UserError: it cannot be fetched, is of another architecture than BERT, or weights of the encoder are missing.
    """
    with open_model(params) as found:
        content = _read_config(found)
        shape, vocab_size = _shape(content, found.name)
        network, imported = _network(found, shape, vocab_size)
        backend, settings = load_pretrained(
            PretrainedTokenizer(name=str(found.directory), revision=None, segmented=False)
        )
        pieces = LoadedTokenizer(backend, [settings[f"{kind}_token"] for kind in KINDS])
        if pieces.vocab_size > vocab_size:
            raise UserError(
                f"{found.name} has embeddings for {vocab_size} tokens, and its tokenizer has {pieces.vocab_size}: "
                "choose another"
            )
        shape_file = {CONFIG: _json(config(shape, vocab_size, imported.architecture))}
        save_pretrained(backend, tokenizer, {"imported": found.provenance}, settings, shape_file)
        _export(found, network, imported, model, tokenizer, language)
    return imported


def _read_config(found: Found) -> Mapping[str, Any]:
    """Return the content of the config; what it leaves out has the default of transformers."""
    from transformers import BertConfig

    content = read_json(found.directory / CONFIG)
    kind = content.get("model_type") if isinstance(content, dict) else None
    if kind != "bert":
        raise UserError(
            f"{found.name} is of architecture {kind or 'unknown'}, and maskline imports bert alone: choose a BERT"
        )
    for key, value in (("position_embedding_type", "absolute"), ("is_decoder", False), ("add_cross_attention", False)):
        if content.get(key, value) != value:
            raise UserError(f"{found.name} has {key} {content[key]}, and maskline's BERT has {value}: choose another")
    if content.get("type_vocab_size", SEGMENTS) != SEGMENTS:
        raise UserError(
            f"{found.name} has type_vocab_size {content['type_vocab_size']}, and BERT has {SEGMENTS}: choose another"
        )
    defaults: dict[str, Any] = BertConfig().to_dict()
    return {**defaults, **content}


def _shape(content: Mapping[str, Any], name: str) -> tuple[BertParams, int]:
    """Return the architecture and the size of the vocabulary."""
    try:
        return model_params(content), int(content["vocab_size"])
    except KeyError as error:
        raise UserError(f"{name}: its {CONFIG} has no {error.args[0]}: choose another") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"{name}: its {CONFIG} has an odd {first['loc'][0]}: {one_line(first['msg'])}") from None
    except (TypeError, ValueError) as error:
        raise UserError(f"{name}: its {CONFIG} describes no BERT ({one_line(error)}): choose another") from None


def _network(found: Found, shape: BertParams, vocab_size: int) -> tuple[EncoderModel, Imported]:
    """Return the model with its weights: with the heads of pretraining where they are there, else the encoder alone."""
    try:
        weights = _named(_read_weights(found.weights))
    except (SafetensorError, OSError, ValueError, RuntimeError, UnpicklingError, AttributeError) as error:
        raise UserError(
            f"{found.name}: {found.weights.name} cannot be read ({one_line(error)}): fetch it again, or choose another"
        ) from None
    heads = weights.keys() >= _HEAD and not any(name.startswith(_TIED) for name in weights)
    try:
        check_sizes(shape, vocab_size, weights)
        network = (PretrainingModel if heads else EncoderModel)(shape, vocab_size)
        fit = from_hugging_face(network, weights)
    except KeyError as error:
        raise UserError(f"{found.name} lacks {error.args[0]}: choose another") from None
    except ValueError as error:
        raise UserError(f"{found.name}: {error}: its {CONFIG} is of another model") from None
    if needed := [name for name in fit.missing if not name.startswith((POOLER, NSP))]:
        raise UserError(
            f"{found.name} lacks {', '.join(needed[:4])}{' ...' if len(needed) > 4 else ''}: choose another"
        )
    architecture = "BertModel" if not heads else "BertForPreTraining"
    if heads and any(name.startswith((NSP, POOLER)) for name in fit.missing):
        architecture = "BertForMaskedLM"
    return network, Imported(found.name, shape, vocab_size, architecture, fit.left_over, fit.missing)


def _read_weights(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file by name; of a pickle, nothing else is ever made."""
    if path.name == WEIGHTS:
        return load_file(path)
    return dict(torch.load(path, map_location="cpu", weights_only=True))


def _named(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights under the names of a BERT with a head, in float32, without what is there twice."""
    named = {}
    bare = not any(name.startswith(ENCODER) for name in weights)
    for name, tensor in weights.items():
        new = f"{ENCODER}{name}" if bare else name
        for old, ending in _RENAMED.items():
            new = new.removesuffix(old) + ending if new.endswith(old) else new
        if new not in _BUFFERS:
            named[new] = tensor.float()
    embedding, bias = named.get("bert.embeddings.word_embeddings.weight"), named.get("cls.predictions.bias")
    for part, same in (("weight", embedding), ("bias", bias)):
        tied = named.get(_TIED + part)
        if tied is not None and same is not None and tied.equal(same):
            del named[_TIED + part]
    return named


def _export(
    found: Found, network: EncoderModel, imported: Imported, model: Path, tokenizer: Path, language: str
) -> None:
    untrained = tuple({prefix for prefix in (POOLER, NSP) if any(name.startswith(prefix) for name in imported.missing)})
    named = {key: value for key, value in found.provenance.items() if isinstance(value, str)}
    origin = {**named, "licence": found.licence}
    provenance = {
        "imported": found.provenance,
        "origin": origin,
        "left_out": imported.left_out,
        "missing": imported.missing,
        "inputs": {"tokenizer": sha256(tokenizer / MANIFEST)},
    }
    card = model_card(
        f"{found.name}, imported", language, {"Origin": origin}, "An encoder of others, imported by maskline as it is."
    )
    files = TokenizerFiles(*files_for_model(tokenizer, imported.params.max_positions))
    export(model, network, imported.architecture, files, card, provenance, untrained=untrained)


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
