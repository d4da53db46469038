"""The section `multitask` of params.yaml, and all that training several tasks at once reads."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from maskline.core.section import Count, Language, Positive, Section, Seed
from maskline.finetuning.settings import EncoderParams, FinetuneParams, FinetuningSettings
from maskline.training.settings import ComputeParams


class MultitaskParams(Section):
    """Which tasks share an encoder, and how much of the training each gets."""

    tasks: list[str]
    """Two or more of those that are switched on; none: nothing is trained so."""
    power: Annotated[float, Field(ge=0, le=1)]
    """A task's share of the updates is proportional to its training examples to this power: 1 is by size, 0 gives all
    the same. It is one over what others call a temperature."""
    weights: dict[str, Positive]
    """What the loss of a task is multiplied by; 1 for those that are not named."""
    steps: Count | None
    """Updates; None: as many as the tasks take together when each is trained alone."""
    evaluations: Count
    """How often all are scored and the state is saved, at equal distances; what scores best is kept."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.tasks) == 1:
            raise ValueError(f"tasks has {self.tasks[0]} alone: give two or more, or train it by `finetune`")
        if twice := [name for name in self.tasks if self.tasks.count(name) > 1]:
            raise ValueError(f"tasks has {twice[0]} twice: name it once, and give it a weight")
        if unknown := [name for name in self.weights if name not in self.tasks]:
            raise ValueError(f"weights has {unknown[0]}, which is none of tasks: name it there, or remove it")
        return self


class MultitaskSettings(Section):
    """All that training several tasks at once reads."""

    seed: Seed
    language: Language
    multitask: MultitaskParams
    recipe: FinetuneParams
    """`finetune` of params.yaml: optimizer, rates and dropout are of the encoder, which all tasks share."""
    tasks: dict[str, FinetuningSettings]
    """Name -> settings of each task: its recipe has the length of its texts, its batches and what its kind adds."""
    encoder: EncoderParams
    compute: ComputeParams
