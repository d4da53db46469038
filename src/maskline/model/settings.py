"""The section `model` of params.yaml: the architecture."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from maskline.core.section import Count, Dropout, Natural, Positive, Section, SequenceLength


class ModelParams(Section):
    """The architecture: plain BERT."""

    layers: Annotated[int, Field(ge=1, le=1_000)]
    hidden: Annotated[int, Field(ge=1, le=2**16)]
    heads: Count
    intermediate: Annotated[int, Field(ge=1, le=2**18)]
    activation: Literal["gelu", "gelu_tanh", "relu"]
    mlm_head: Literal["bert", "linear"]
    dropout: Dropout
    max_positions: Annotated[SequenceLength, Field(le=2**16)]
    layer_norm_eps: Positive
    initializer_range: Positive
    position_init: Literal["normal", "sinusoidal"]
    position_base: Positive
    position_scale: Positive
    matched_heads: Natural

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.hidden % self.heads:
            fits = ", ".join(str(heads) for heads in range(1, self.hidden + 1) if self.hidden % heads == 0)
            raise ValueError(f"hidden {self.hidden} is not divisible by heads {self.heads}: heads may be {fits}")
        if self.matched_heads > self.heads:
            raise ValueError(f"matched_heads {self.matched_heads} is more than heads {self.heads}")
        return self

    def matrix_weights(self, vocab_size: int) -> int:
        """Return how many weights the matrices and embeddings of the encoder have."""
        layer = 4 * self.hidden**2 + 2 * self.hidden * self.intermediate
        return (vocab_size + self.max_positions) * self.hidden + self.layers * layer
