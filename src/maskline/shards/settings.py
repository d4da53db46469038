"""The section `tokenize` of params.yaml."""

from typing import Annotated

from pydantic import Field

from maskline.core.section import Section


class TokenizeParams(Section):
    """How token ids are laid out on disk."""

    shard_tokens: Annotated[int, Field(ge=1, le=2**30)]  # offsets are 32-bit
