"""What a tasks/NAME.yaml of this kind holds."""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from maskline.dataset.settings import DatasetSettings
from maskline.finetuning.settings import FinetuneParams
from maskline.tasks.settings import TaskSettings

Pooling = Literal["cls", "mean"]


def _label(value: Any) -> Any:
    """Return a label as text: YAML has numbers and truth values without quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value)):
        return str(value)
    return value


def _list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Columns = Annotated[list[str], BeforeValidator(_list), Field(min_length=1)]
"""A column, or several where files name it differently: each file has one of them."""
Label = Annotated[str, BeforeValidator(_label), Field(min_length=1)]


class ClassificationDataset(DatasetSettings):
    """Records with a column for the text and one for its class."""

    text_column: Columns
    second_column: Columns | None = None
    """Of a second text, where two make one example; null: there is none."""
    label_column: Columns
    labels: Annotated[list[Label], Field(min_length=2, max_length=128)]
    """Rows of other labels are left out and counted; the order gives the ids. `dataset` cleans them like texts."""

    @property
    def text_columns(self) -> list[list[str]]:
        """Return the columns of the texts of an example, one or two."""
        return [self.text_column] if self.second_column is None else [self.text_column, self.second_column]

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        columns = [name for names in (*self.text_columns, self.label_column) for name in names]
        if len(set(columns)) != len(columns):
            raise ValueError("the columns of text_column, second_column and label_column must differ from one another")
        return self

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("labels must differ from one another")
        return self


class ClassificationRecipe(FinetuneParams):
    """The fine-tuning of a classifier."""

    class_weights: Literal["none", "balanced"]
    """balanced: the loss of a class weighs by the inverse of its frequency."""
    pooling: Pooling = "cls"
    """What the classifier reads: BERT's pooler over [CLS], or the mean of all tokens, which `transformers` has no class
    for: its encoder is exported, as BertModel, and the classifier in a file beside it."""


class Settings(TaskSettings):
    """All of the file."""

    kind: Literal["classification"]
    dataset: ClassificationDataset
    finetune: ClassificationRecipe
