"""BERT as the rest of the project uses it."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from maskline.model.architecture import VocabularyHead
from maskline.model.bert.convert import NAMES, config, model_params
from maskline.model.bert.encoder import Encoder, initialize
from maskline.model.bert.heads import MLM_HEADS
from maskline.model.bert.settings import Settings


class Bert:
    """BERT (Devlin et al. 2019)."""

    title = "BERT"
    classes = "Bert"
    names = NAMES

    def encoder(self, params: Settings, vocab_size: int) -> Encoder:
        """Return the encoder."""
        return Encoder(params, vocab_size)

    def vocabulary_head(self, params: Settings, embedding: nn.Embedding) -> VocabularyHead:
        """Return the head that `mlm_head` names."""
        return MLM_HEADS[params.mlm_head](params, embedding)

    def task_head(self, params: Settings) -> nn.Module:  # noqa: ARG002  # it needs none
        """Return nothing that computes: what BERT has before a classifier is its pooler."""
        return nn.Identity()

    def initialize(self, module: nn.Module, params: Settings, generator: torch.Generator) -> None:
        """Draw initial weights."""
        initialize(module, params, generator)

    def pretrained_class(self, params: Settings, *, nsp: bool) -> str | None:
        """Return the class that has the heads of pretraining; none has a linear one."""
        if params.mlm_head != "bert":
            return None
        return "BertForPreTraining" if nsp else "BertForMaskedLM"

    def pooling_config(self, pooling: str) -> dict[str, Any] | None:
        """Return nothing to say of the pooler; no class of BERT classifies by the mean."""
        return {} if pooling == "cls" else None

    def config(self, params: Settings, vocab_size: int, architecture: str) -> dict[str, Any]:
        """Return the content of a config.json."""
        return config(params, vocab_size, architecture)

    def params(self, config: Mapping[str, Any]) -> Settings:
        """Return the section `model` that a config.json describes."""
        return model_params(config)

    def sizes(self, params: Settings, vocab_size: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of some weights."""
        return {
            "bert.embeddings.word_embeddings.weight": (vocab_size, params.hidden),
            "bert.embeddings.position_embeddings.weight": (params.max_positions, params.hidden),
            "bert.encoder.layer.0.intermediate.dense.weight": (params.intermediate, params.hidden),
        }


ARCHITECTURE = Bert()
