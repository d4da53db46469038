"""What a tasks/NAME.yaml of this kind holds."""

from typing import Literal, Self

from pydantic import model_validator

from maskline.core.section import Count, Language
from maskline.dataset.settings import DatasetSettings
from maskline.finetuning.settings import FinetuneParams
from maskline.tasks.settings import TaskSettings

SPECIAL = 3
"""Special tokens of a window: [CLS] question [SEP] context [SEP]."""


class SpansDataset(DatasetSettings):
    """Questions with their contexts, and the answers in these."""

    language: Language
    """Of the answers: how they are compared (tasks/spans/answers.py)."""
    id_prefix: str
    """Questions whose id begins otherwise are left out and counted; may be empty."""


class SpansRecipe(FinetuneParams):
    """The fine-tuning of a model that finds answers."""

    max_question_tokens: Count
    """Longer questions are cut and counted."""
    stride: Count
    """Tokens of the context from the beginning of a window to that of the next, at most a whole window."""
    max_answer_tokens: Count
    """Longer answers are not predicted."""

    @model_validator(mode="after")
    def _check_question(self) -> Self:
        if self.max_question_tokens + SPECIAL >= self.max_seq_length:
            raise ValueError(
                f"finetune.max_question_tokens {self.max_question_tokens} leaves no room for a context in "
                f"max_seq_length {self.max_seq_length}, {SPECIAL} of which are special tokens: lower the one or raise "
                "the other"
            )
        return self


class Settings(TaskSettings):
    """All of the file."""

    kind: Literal["spans"]
    dataset: SpansDataset
    finetune: SpansRecipe
