"""The section `tokenizer` of params.yaml: where the vocabulary comes from."""

from typing import Annotated, Literal

from pydantic import Field

from maskline.core.section import Count, Fraction, Section


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
