"""What an architecture is to all else: an encoder, the heads that it has, and its form in `transformers`.

Each is a folder of this room, with `Settings` in its module `settings` and `ARCHITECTURE` in its module `architecture`.
"""

# Dimensions: B sequences, N tokens of them all, M tokens of a selection, D hidden, V vocabulary.

import importlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn

import maskline.model
from maskline.model.attention import Layout
from maskline.model.names import Names
from maskline.model.settings import ModelParams


class Encoder(nn.Module):
    """From token ids to a vector for each token."""

    params: ModelParams
    vocab_size: int
    layers: nn.ModuleList

    @property
    @abstractmethod
    def token_embedding(self) -> nn.Embedding:
        """Return the embedding of tokens, whose matrix the decoder of a head may share."""

    @abstractmethod
    def forward(self, input_ids: Tensor, token_type_ids: Tensor, layout: Layout) -> Tensor:
        """Encode a packed batch: sequences one after the other, without padding.

        Args:
            input_ids: (N,) integers below the vocabulary size.
            token_type_ids: (N,) integers, 0 or 1.
            layout: where each sequence lies; none is longer than `max_positions`.

        Returns:
            (N, D) the output of the last layer.
        """

    @abstractmethod
    def pool(self, x: Tensor, layout: Layout) -> Tensor:
        """Pool encoded sequences by their [CLS] token: (N, D) -> (B, D)."""

    @abstractmethod
    def stacks(self) -> Iterator[tuple[Tensor, int]]:
        """Yield the matrices of the layers that are several, one below the other, each with how many it holds."""


class VocabularyHead(nn.Module):
    """Scores the vocabulary for encoded tokens."""

    decoder: nn.Linear

    def forward(self, x: Tensor) -> Tensor:
        """Score the vocabulary: (M, D) -> (M, V) logits."""
        return self.decoder(self.hidden(x))  # type: ignore[no-any-return]

    @abstractmethod
    def hidden(self, x: Tensor) -> Tensor:
        """Return the input of the decoder: (M, D) -> (M, D)."""


class Architecture(Protocol):
    """An architecture; `params` is always what its own `Settings` has."""

    @property
    def title(self) -> str:
        """Return what people call it."""

    @property
    def classes(self) -> str:
        """Return what the names of its classes in `transformers` begin with."""

    @property
    def names(self) -> Names:
        """Return the names of its weights."""

    def encoder(self, params: Any, vocab_size: int) -> Encoder:
        """Return the encoder."""

    def vocabulary_head(self, params: Any, embedding: nn.Embedding) -> VocabularyHead:
        """Return the head for masked tokens, on an encoder with this embedding of tokens."""

    def task_head(self, params: Any) -> nn.Module:
        """Return what stands before the linear layer of a task: (M, D) -> (M, D)."""

    def initialize(self, module: nn.Module, params: Any, generator: torch.Generator) -> None:
        """Draw initial weights of an encoder, with a head or without, in place."""

    def pretrained_class(self, params: Any, *, nsp: bool) -> str | None:
        """Return the class that has the heads of pretraining; None where only the encoder can be expressed."""

    def pooling_config(self, pooling: str) -> dict[str, Any] | None:
        """Return what config.json says of a classifier that pools by `cls` or `mean`; None where no class does so."""

    def config(self, params: Any, vocab_size: int, architecture: str) -> dict[str, Any]:
        """Return the content of a config.json with which the class `architecture` computes the same as our model."""

    def params(self, config: Mapping[str, Any]) -> ModelParams:
        """Return the section `model` that a config.json describes.

        Raises:
            ValueError: it has a part that ours has not.
        """

    def sizes(self, params: Any, vocab_size: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of some weights, by Hugging Face's names, that all sizes in `params` show in."""


def architecture_of(name: str) -> Architecture:
    """Return the architecture `name`, a folder of this room."""
    found: Architecture = importlib.import_module(f"{maskline.model.__name__}.{name}.architecture").ARCHITECTURE
    return found
