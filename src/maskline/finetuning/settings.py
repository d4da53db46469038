"""The section `finetune`: the recipe of all tasks; and all that training and scoring a task read."""

from typing import Literal

from pydantic import SerializeAsAny

from maskline.core.section import Dropout, Language, Section, Seed, SequenceLength
from maskline.model.settings import ModelParams
from maskline.training.settings import ComputeParams, OptimizerParams


class FinetuneParams(OptimizerParams):
    """The fine-tuning run of a task."""

    max_seq_length: SequenceLength
    dropout: Dropout


class EncoderParams(Section):
    """What tasks start from: directories of stages, with a model and with the tokenizer that it was trained with."""

    model: Literal["data/models/pretrained", "data/imported/model"]
    tokenizer: Literal["data/tokenizer", "data/imported/tokenizer"]

    @property
    def imported(self) -> bool:
        """Return whether others trained it."""
        return self.model == "data/imported/model"

    @property
    def stage(self) -> str:
        """Return the stage that writes the model."""
        return "imported@encoder" if self.imported else "pretrain"


class FinetuningSettings(Section):
    """All that training and scoring a task read."""

    seed: Seed
    language: Language
    """Of the model card."""
    encoder: EncoderParams
    model: ModelParams
    """The architecture of the model that is pretrained here."""
    recipe: SerializeAsAny[FinetuneParams]
    compute: ComputeParams
