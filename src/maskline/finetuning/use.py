"""What using a trained model of any kind needs of its kind. Nothing here needs torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import Packed

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from maskline.model.attention import Layout
    from maskline.model.directory import SavedModel
    from maskline.model.heads import EncoderModel


@dataclass(frozen=True)
class Predicted:
    """What a model says of some inputs."""

    rows: list[dict[str, Any]]
    """One for each input, in their order: what a line of JSON holds, without the input itself."""
    cut: int = 0
    """How many inputs were longer than the model reads, and are known by their beginning."""
    windowed: int = 0
    """How many were longer, and were read in several windows."""


class Answering(Protocol):
    """One trained model, or several that read the same, ready for use."""

    @property
    def fields(self) -> Sequence[str]:
        """Return what an input consists of, such as `text`; the first is enough where it can stand alone."""

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> Predicted:
        """Return what the model says of each input, a text for each of `fields`.

        It does not depend, but for rounding, on the inputs around it. An empty text gives an answer too.
        """


class Described(Protocol):
    """A directory of a model with its configuration."""

    @property
    def directory(self) -> Path:
        """Return where it lies."""

    @property
    def config(self) -> Mapping[str, Any]:
        """Return the content of its config.json."""


class Graph(Described, Protocol):
    """A trained network as a graph that runs without torch. Its outputs have names, as in `transformers`."""

    @property
    def longest(self) -> int:
        """Return the most tokens that a sequence may have."""

    def of_texts(self, texts: Packed, *outputs: str) -> list[NDArray[np.float32]]:
        """Return outputs that there are for each of the B sequences, (B, ...)."""

    def of_tokens(self, texts: Packed, *outputs: str) -> list[NDArray[np.float32]]:
        """Return outputs that there are for each of the N tokens, (N, ...)."""


class Use(Protocol):
    """The module `use` of a kind: the network of a saved model, and what answers by it or by its graph.

    Three ways lead from one network to the same answers, and meet in what scores a batch, the kind's `Scorer`.
    """

    PURPOSES: Sequence[str]
    """What the names of the classes of `transformers` for its models end with, after the architecture."""

    def load(self, saved: "SavedModel") -> "EncoderModel":
        """Return the network of `saved`.

        Raises:
            UserError: its configuration or weights are not of this kind.
        """

    def open_predictor(self, saved: "SavedModel", tokenizer: LoadedTokenizer, device: "torch.device") -> Answering:
        """Return what answers by the model `saved` on `device`.

        Raises:
            UserError: its configuration or weights are not of this kind.
        """

    def open_graph(self, graph: Graph, tokenizer: LoadedTokenizer) -> Answering:
        """Return what answers by a graph.

        Raises:
            UserError: its configuration is not of this kind.
        """

    def graph_scorer(self, graph: Graph) -> Any:
        """Return the `Scorer` of this kind that a graph is."""

    def graph_outputs(self, model: Any, x: "Tensor", layout: "Layout", mask: "Tensor") -> "dict[str, Tensor]":
        """Return what a graph gives beside the states, under the names that `graph_scorer` asks for.

        Args:
            model: the network that `load` returned.
            x: (B * T, D) the encoder's output for a padded batch.
            layout: of that batch, each of whose places is taken for a token.
            mask: (B, T) True where it is one.
        """


def softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the probabilities of scores, along the last axis."""
    likelihood = np.exp(scores - scores.max(-1, keepdims=True))
    chances: NDArray[np.float32] = likelihood / likelihood.sum(-1, keepdims=True)
    return chances


def log_softmax(scores: NDArray[np.float32], axis: int = -1) -> NDArray[np.float32]:
    """Return the logarithms of the probabilities of scores, along an axis on which one at least is finite."""
    shifted = scores - scores.max(axis, keepdims=True)
    found: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
    return found


def token_means(states: NDArray[np.float32], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the mean over the tokens of each sequence: (N, D) of sequences with `lengths`, (B,) -> (B, D)."""
    means: NDArray[np.float32] = np.add.reduceat(states, np.cumsum(lengths) - lengths)
    means /= lengths[:, None].astype(np.float32)
    return means
