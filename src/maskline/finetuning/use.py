"""What using a trained model of any kind needs of its kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from maskline.model.directory import SavedModel
from maskline.model.heads import EncoderModel
from maskline.tokenization.load import LoadedTokenizer


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


class Predictor(Answering, Protocol):
    """A trained model of one kind, ready for use.

    A kind's module `use` has `PURPOSES`, what the names of the classes of `transformers` for its models
    end with, after the architecture, and `open_predictor`, which makes a predictor of such a model.
    """

    @property
    def model(self) -> EncoderModel:
        """Return the network."""


class PredictorFactory(Protocol):
    """`open_predictor` of a kind."""

    def __call__(self, saved: SavedModel, tokenizer: LoadedTokenizer, device: torch.device) -> Predictor:
        """Return the model `saved` on `device`.

        Raises:
            UserError: its configuration or weights are not of this kind.
        """
