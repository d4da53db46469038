"""What the section `model` holds for ModernBERT."""

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from maskline.core.section import Natural, Positive
from maskline.model.settings import ModelParams


class Settings(ModelParams):
    """ModernBERT; `max_positions` is the longest sequence that it is made for, and no table of embeddings."""

    architecture: Literal["modernbert"]
    rope_theta: Positive
    """Base of the rotary wavelengths, the longest of which is below 2 pi times this many tokens."""
    neighbour_heads: Natural
    """Heads of every layer that start by looking at a place beside their token: the one before, the one after, two
    before, two after and so on. 0: none, as published."""
    neighbour_score: Positive
    """What they start to score that place with, before the softmax: the more, the less they see of those around it."""

    next_sentence: ClassVar[bool] = False
    shape: ClassVar[tuple[str, ...]] = (*ModelParams.shape, "rope_theta")

    @model_validator(mode="after")
    def _check_head(self) -> Self:
        if self.hidden // self.heads % 2:
            raise ValueError(
                f"hidden {self.hidden} of {self.heads} heads is {self.hidden // self.heads} numbers each, and rotary "
                "positions turn pairs of them: choose others"
            )
        if self.neighbour_heads > self.heads:
            raise ValueError(f"neighbour_heads {self.neighbour_heads} is more than heads {self.heads}")
        return self

    def matrix_weights(self, vocab_size: int) -> int:
        """Return how many weights the matrices and embeddings of the encoder have."""
        layer = 4 * self.hidden**2 + 3 * self.hidden * self.intermediate
        return vocab_size * self.hidden + self.layers * layer
