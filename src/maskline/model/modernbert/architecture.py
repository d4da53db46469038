"""ModernBERT as the rest of the project uses it."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from maskline.model.modernbert.convert import NAMES, config, model_params
from maskline.model.modernbert.encoder import Encoder, initialize
from maskline.model.modernbert.heads import MaskedLanguageModelHead, PredictionHead
from maskline.model.modernbert.settings import Settings


class ModernBert:
    """ModernBERT (Warner et al. 2024)."""

    title = "ModernBERT"
    classes = "ModernBert"
    names = NAMES

    def encoder(self, params: Settings, vocab_size: int) -> Encoder:
        """Return the encoder."""
        return Encoder(params, vocab_size)

    def vocabulary_head(self, params: Settings, embedding: nn.Embedding) -> MaskedLanguageModelHead:
        """Return the head for masked tokens."""
        return MaskedLanguageModelHead(params, embedding)

    def task_head(self, params: Settings) -> PredictionHead:
        """Return the head that a task has in common with masked tokens: fine-tuning goes on with its weights."""
        return PredictionHead(params)

    def initialize(self, module: nn.Module, params: Settings, generator: torch.Generator) -> None:
        """Draw initial weights."""
        initialize(module, params, generator)

    def pretrained_class(self, params: Settings, *, nsp: bool) -> str:  # noqa: ARG002  # there is one
        """Return the class that has the head for masked tokens."""
        assert not nsp, "there are no segments"
        return "ModernBertForMaskedLM"

    def pooling_config(self, pooling: str) -> dict[str, Any]:
        """Return how the class for classification pools."""
        return {"classifier_pooling": pooling}

    def config(self, params: Settings, vocab_size: int, architecture: str) -> dict[str, Any]:
        """Return the content of a config.json."""
        return config(params, vocab_size, architecture)

    def params(self, config: Mapping[str, Any]) -> Settings:
        """Return the section `model` that a config.json describes."""
        return model_params(config)

    def sizes(self, params: Settings, vocab_size: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of some weights."""
        return {
            "model.embeddings.tok_embeddings.weight": (vocab_size, params.hidden),
            "model.layers.0.mlp.Wi.weight": (2 * params.intermediate, params.hidden),
        }


ARCHITECTURE = ModernBert()
