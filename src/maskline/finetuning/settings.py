"""The section `finetune`: the recipe of all tasks; and all that training and scoring a task read."""

from pydantic import SerializeAsAny

from maskline.core.section import Dropout, Language, Section, Seed, SequenceLength
from maskline.model.settings import ModelParams
from maskline.training.settings import ComputeParams, OptimizerParams


class FinetuneParams(OptimizerParams):
    """The fine-tuning run of a task."""

    max_seq_length: SequenceLength
    dropout: Dropout


class FinetuningSettings(Section):
    """All that training and scoring a task read."""

    seed: Seed
    language: Language
    """Of the model card."""
    model: ModelParams
    recipe: SerializeAsAny[FinetuneParams]
    compute: ComputeParams
