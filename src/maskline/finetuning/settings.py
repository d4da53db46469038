"""The section `finetune`: the recipe of all tasks; and what a tasks/NAME.yaml holds."""

from pydantic import SerializeAsAny

from maskline.core.section import Dropout, Language, Section, Seed, SequenceLength
from maskline.dataset.settings import DatasetSettings
from maskline.model.settings import ModelParams
from maskline.training.settings import ComputeParams, OptimizerParams


class FinetuneParams(OptimizerParams):
    """The fine-tuning run of a task."""

    max_seq_length: SequenceLength
    dropout: Dropout


class TaskSettings(Section):
    """The settings file of a task, each kind with sections of its own type.

    `finetune` is that of params.yaml with the differences that the file holds.
    """

    kind: str
    """As params.yaml names it beside the task."""
    dataset: SerializeAsAny[DatasetSettings]
    finetune: SerializeAsAny[FinetuneParams]


class FinetuningSettings(Section):
    """All that training and scoring a task read."""

    seed: Seed
    language: Language
    """Of the model card."""
    model: ModelParams
    recipe: SerializeAsAny[FinetuneParams]
    compute: ComputeParams
