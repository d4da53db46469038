"""What a tasks/NAME.yaml of this kind holds."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from maskline.dataset.settings import DatasetSettings
from maskline.finetuning.settings import FinetuneParams
from maskline.tasks.settings import TaskSettings

Pooling = Literal["cls", "mean"]


class ClassificationDataset(DatasetSettings):
    """Records with a column for the text and one for its class."""

    text_column: str
    label_column: str
    labels: Annotated[list[str], Field(min_length=2, max_length=128)]
    """Rows of other labels are left out and counted; the order gives the ids."""

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
