"""The sections `masking` and `premask` of params.yaml."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from maskline.core.section import Fraction, Section, Seed, SequenceLength

MaskRate = Annotated[float, Field(gt=0, le=1)]


class MaskingRates(Section):
    """Which tokens are predicted, and what stands in their place (Devlin et al. 2019, sec. 3.1)."""

    rate: MaskRate
    mask: Fraction
    random: Fraction

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.mask + self.random > 1:
            raise ValueError(f"mask + random is {self.mask + self.random:g}: at most 1 is possible")
        return self


class MaskingParams(MaskingRates):
    """The masking of a training run."""

    final_rate: MaskRate | None
    whole_word: bool
    """Pick the pieces of a word together, at the same share of tokens."""

    def rate_at(self, step: int, steps: int) -> float:
        """Return the share of tokens to predict at update `step` of `steps`, counted from 0.

        It is `rate` at the first and `final_rate` at the last, and lies on the line between them.
        """
        if self.final_rate is None:
            return self.rate
        return self.rate + (self.final_rate - self.rate) * step / max(1, steps - 1)


class PremaskParams(MaskingRates):
    """The fixed validation set."""

    seed: Seed
    max_seq_length: SequenceLength
