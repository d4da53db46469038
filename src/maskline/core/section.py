"""The base of every section of a settings file, and the types of its fields.

A room owns the schema of its own sections, in its `settings.py`. Files are read and checked as a whole in
`maskline.settings`.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
# Below what the libraries underneath count with: beyond it they overflow or take the process down.
Count = Annotated[int, Field(ge=1, lt=2**31)]
Natural = Annotated[int, Field(ge=0, lt=2**31)]
Seed = Annotated[int, Field(ge=0)]
SequenceLength = Annotated[int, Field(ge=8)]
"""Tokens, the special ones included."""
Dropout = Annotated[float, Field(ge=0, lt=1)]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")]
"""A code of ISO 639, such as en; a part for the script or region may follow."""


class Section(BaseModel):
    """A part of a settings file: unknown keys are errors, values do not change once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_boolean(cls, value: Any, info: ValidationInfo) -> Any:
        """Keep pydantic from taking `true` for the number 1."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError(f"{value} stands where a number or a text is meant")
        return value
