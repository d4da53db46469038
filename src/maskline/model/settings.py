"""The section `model` of params.yaml: the architecture. Here is what each has; the rest is in its folder."""

import importlib
import pkgutil
from abc import abstractmethod
from functools import cache
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError, model_validator
from pydantic_core import PydanticCustomError

import maskline.model
from maskline.core.section import Count, Dropout, Positive, Section, SequenceLength


class ModelParams(Section):
    """What every architecture has; `Settings` in the folder of each adds its own."""

    architecture: str
    """A folder of this room."""
    layers: Annotated[int, Field(ge=1, le=1_000)]
    hidden: Annotated[int, Field(ge=1, le=2**16)]
    heads: Count
    intermediate: Annotated[int, Field(ge=1, le=2**18)]
    dropout: Dropout
    max_positions: Annotated[SequenceLength, Field(le=2**16)]
    layer_norm_eps: Positive
    initializer_range: Positive

    next_sentence: ClassVar[bool]
    """Whether it tells the two segments of a pair apart, and so has a head for next-sentence prediction."""
    shape: ClassVar[tuple[str, ...]] = (
        "architecture",
        "layers",
        "hidden",
        "heads",
        "intermediate",
        "max_positions",
        "layer_norm_eps",
    )
    """The fields without which the same weights of an encoder compute something else."""

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        if self.hidden % self.heads:
            fits = ", ".join(str(heads) for heads in range(1, self.hidden + 1) if self.hidden % heads == 0)
            raise ValueError(f"hidden {self.hidden} is not divisible by heads {self.heads}: heads may be {fits}")
        return self

    @abstractmethod
    def matrix_weights(self, vocab_size: int) -> int:
        """Return how many weights the matrices and embeddings of the encoder have."""


def architectures() -> list[str]:
    """Return the names of all architectures: the folders of this room."""
    return sorted(module.name for module in pkgutil.iter_modules(maskline.model.__path__) if module.ispkg)


@cache
def settings_of(architecture: str) -> type[ModelParams]:
    """Return the schema of the section `model` for an architecture."""
    schema: type[ModelParams] = importlib.import_module(f"{maskline.model.__name__}.{architecture}.settings").Settings
    return schema


def of_architecture(content: Any) -> Any:
    """Return the content of a section `model` as its architecture has it.

    A key that only others have may be there, as null, so that flags and presets can change the architecture.

    Raises:
        ValueError: there is no such architecture, it lacks a key that has a value, or a value is not acceptable.
    """
    if not isinstance(content, dict):
        return content
    name = content.get("architecture")
    if name not in architectures():
        fault = PydanticCustomError("architecture", f"give {' or '.join(architectures())}")
        raise ValidationError.from_exception_data(
            "model",
            [{"type": fault if "architecture" in content else "missing", "loc": ("architecture",), "input": name}],
        )
    schema = settings_of(name)
    others = {key for other in architectures() for key in settings_of(other).model_fields} - schema.model_fields.keys()
    if given := [key for key in content if key in others and content[key] is not None]:
        raise ValueError(
            f"architecture {name} has no {', '.join(given)}: set {'it' if len(given) == 1 else 'them'} to null, as the "
            "preset of an architecture does"
        )
    return schema.model_validate({key: value for key, value in content.items() if key not in others})


AnyModel = Annotated[SerializeAsAny[ModelParams], BeforeValidator(of_architecture)]
"""The section `model` of any architecture."""
