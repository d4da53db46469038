"""What a tasks/NAME.yaml of this kind holds."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from maskline.dataset.settings import DatasetSettings
from maskline.finetuning.settings import FinetuneParams
from maskline.tasks.settings import TaskSettings
from maskline.tasks.tokens.entities import Scheme


class TokensDataset(DatasetSettings):
    """Sentences of words with tags: in lines, a blank one between sentences, or in columns of lists."""

    words_column: str
    """Of records with columns."""
    tags_column: str
    scheme: Scheme
    """How the tags of the files say where an entity begins and ends; the table is in `entities.py`."""
    types: Annotated[list[str], Field(min_length=1, max_length=63)]
    """Types of entities; the model's tags are O, and B- and I- with each of these, in this order."""
    word_prefix: str
    """What stands before each word in the files and is no part of it; may be empty."""
    sentence_end: list[str] = Field(default_factory=list)
    """Words that end a sentence, where a record with columns is one word with its tag; []: a record is a sentence."""

    @model_validator(mode="after")
    def _check_types(self) -> Self:
        if len(set(self.types)) != len(self.types):
            raise ValueError("types must differ from one another")
        return self


class Settings(TaskSettings):
    """All of the file."""

    kind: Literal["tokens"]
    dataset: TokensDataset
    finetune: FinetuneParams
