"""The model that a run goes on from, in the vocabulary of the run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json
from maskline.model.directory import SavedModel, read_model
from maskline.model.heads import PretrainingModel
from maskline.model.settings import ModelParams
from maskline.tokenization.extension import old_pieces
from maskline.tokenization.load import LoadedTokenizer, load_tokenizer

MASKED, PAIRS = "masked tokens", "sentence pairs"
"""What the heads of pretraining are for."""


@dataclass(frozen=True)
class Start:
    """A model to go on from.

    Of its rows for tokens only those are taken that its own tokenizer has: an encoder of others may have more.
    """

    saved: SavedModel
    kept: int
    """Tokens of its own tokenizer."""
    added: list[list[int]]
    """For each further token of the run's tokenizer, in the order of ids: the old pieces whose mean is its row."""
    tokenizers: list[str]
    """SHA-256 of the manifests of the tokenizers whose ids it reads."""
    origin: Mapping[str, Any]
    """Where an encoder of others is from, and its licence; empty where it was pretrained by this pipeline."""

    @property
    def name(self) -> str:
        """Return what cards and manifests call it: no path, which is of one machine."""
        return self.saved.directory.resolve().name

    @property
    def shape(self) -> ModelParams:
        """Return the section `model` that its config describes."""
        return self.saved.params

    @property
    def lacks(self) -> list[str]:
        """Return which heads of pretraining it has not."""
        names = self.saved.names
        heads = {MASKED: (names.mlm,), PAIRS: names.nsp if self.shape.next_sentence else ()}
        weights = self.saved.weights
        return [what for what, head in heads.items() if head and not any(name.startswith(head) for name in weights)]

    @property
    def fills_masks(self) -> bool:
        """Return whether it has a head for masked tokens."""
        return MASKED not in self.lacks

    def contradicted(self, params: ModelParams) -> list[str]:
        """Return what of `params` is not so in this model, as texts such as "layers 6, not 2"."""
        shape = self.shape
        given = {key: getattr(params, key, None) for key in shape.shape}
        return [
            f"{key} {getattr(shape, key)}, not {value}" for key, value in given.items() if value != getattr(shape, key)
        ]

    def copy_into(self, model: PretrainingModel) -> None:
        """Copy the weights into a model of the run's vocabulary; what is not there keeps its value.

        Raises:
            UserError: it has weights that the model has not.
        """
        names = self.saved.names
        fitted = replace(self.saved, weights={**self.saved.weights, **dict(self._rows(model))})
        fitted.copy_into(model, may_lack=(names.mlm, *names.pooler, *names.nsp))

    def _rows(self, model: PretrainingModel) -> Iterator[tuple[str, Tensor]]:
        """Yield the weights that have a row for each token, under Hugging Face's names, with the rows of the run."""
        decoder = model.mlm.decoder
        per_token = {id(weight) for weight in (model.encoder.token_embedding.weight, decoder.weight, decoder.bias)}
        for name, weight in model.named_parameters():
            (theirs, *_) = self.saved.names.theirs(name)
            if id(weight) in per_token and theirs in self.saved.weights:
                rows = self.saved.weights[theirs]
                means = [rows[pieces].mean(0, keepdim=True) for pieces in self.added]
                yield theirs, torch.cat([rows[: self.kept], *means])


def read_start(directory: Path, tokenizer: LoadedTokenizer) -> Start:
    """Return the model in `directory` to go on from with `tokenizer`.

    Raises:
        UserError: there is none, it is damaged, or it was trained with another tokenizer than `tokenizer`, which may
            have more pieces.
    """
    if not (directory / MANIFEST).is_file():
        raise UserError(
            f"pretrain.init_from {directory} is no model of this pipeline (no {MANIFEST}): copy one there, or import "
            "one of others first (docs/domain.md)"
        )
    saved, own = read_model(directory, "pretrain"), load_tokenizer(directory)
    added = old_pieces(own, tokenizer)
    if added is None:
        raise UserError(
            f"pretrain.init_from {directory} was trained with another tokenizer than that of the corpus: set "
            f"tokenizer.kind to pretrained, tokenizer.pretrained.name to {directory} and its revision to null"
        )
    if own.vocab_size > saved.vocab_size:
        raise UserError(
            f"pretrain.init_from {directory} has rows for {saved.vocab_size:,} tokens, and its own tokenizer has "
            f"{own.vocab_size:,}: an extended tokenizer was put beside an old model; take the model with its own"
        )
    manifest = read_json(directory / MANIFEST)
    made_with = manifest.get("tokenizers") or [manifest.get("inputs", {}).get("tokenizer", "")]
    return Start(saved, own.vocab_size, added, made_with, manifest.get("origin", {}))
