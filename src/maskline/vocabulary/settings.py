"""The section `tokenizer` of params.yaml: where the vocabulary comes from."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from maskline.core.section import Count, Fraction, Natural, Section


class NormalizationParams(Section):
    """What becomes of a text before it is cut into words; `auto` is what the language needs."""

    unicode: Literal["auto", "nfc", "nfkc"]
    joiners: Literal["auto", "keep", "remove"]
    tatweel: Literal["keep", "remove"]
    tashkeel: Literal["keep", "remove"]
    digits: Literal["keep", "ascii"]
    letters: Literal["keep", "unify"]


class PretrainedTokenizer(Section):
    """A tokenizer on the Hugging Face hub, or a local directory that holds one."""

    name: str
    revision: str | None
    segmented: bool


class ExtendParams(Section):
    """Words of the train split that are added to a tokenizer that exists."""

    pieces: Natural
    """How many at most; 0: none."""
    min_frequency: Count
    """Words seen less often are not added."""


class TokenizerParams(Section):
    """Where the vocabulary comes from."""

    kind: Literal["wordpiece", "word", "pretrained"]
    vocab_size: Annotated[int, Field(ge=16, le=2**20)]
    min_frequency: Count
    sample_characters: Annotated[int, Field(ge=1, le=2**40)]
    lowercase: bool
    strip_accents: bool
    normalization: NormalizationParams
    max_unk_rate: Fraction
    max_fertility: Annotated[float, Field(ge=1)] | None
    pretrained: PretrainedTokenizer
    extend: ExtendParams

    @model_validator(mode="after")
    def _check_extend(self) -> Self:
        if self.extend.pieces and self.kind != "pretrained":
            raise ValueError(
                f"extend.pieces {self.extend.pieces} adds to a tokenizer that exists, and kind is {self.kind}: set "
                "kind to pretrained, or extend.pieces to 0"
            )
        return self
