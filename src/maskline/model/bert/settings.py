"""What the section `model` holds for BERT."""

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from maskline.core.section import Natural, Positive
from maskline.model.settings import ModelParams


class Settings(ModelParams):
    """Plain BERT."""

    architecture: Literal["bert"]
    activation: Literal["gelu", "gelu_tanh", "relu"]
    mlm_head: Literal["bert", "linear"]
    position_init: Literal["normal", "sinusoidal"]
    position_base: Positive
    position_scale: Positive
    matched_heads: Natural

    next_sentence: ClassVar[bool] = True
    shape: ClassVar[tuple[str, ...]] = (*ModelParams.shape, "activation")

    @model_validator(mode="after")
    def _check_matched(self) -> Self:
        if self.matched_heads > self.heads:
            raise ValueError(f"matched_heads {self.matched_heads} is more than heads {self.heads}")
        return self

    def matrix_weights(self, vocab_size: int) -> int:
        """Return how many weights the matrices and embeddings of the encoder have."""
        layer = 4 * self.hidden**2 + 2 * self.hidden * self.intermediate
        return (vocab_size + self.max_positions) * self.hidden + self.layers * layer
