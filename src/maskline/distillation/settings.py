"""The section `distill` of params.yaml, and all that distillation reads."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from maskline.core.section import Count, Language, Natural, Positive, Section, Seed, SequenceLength
from maskline.model.settings import AnyModel
from maskline.pretraining.settings import PretrainParams
from maskline.training.settings import ComputeParams


class DistillParams(Section):
    """What the student is, and how it learns; optimizer and schedule are as in pretraining but for what is here."""

    teacher: Annotated[str, Field(min_length=1)]
    """The directory of a whole model, ours or imported; its tokenizer is its own."""
    init_from: Annotated[str, Field(min_length=1)] | None
    """The directory of the model that the student starts from; None: random weights of `model`."""
    texts: list[str]
    """Files of unlabelled texts beside the sentences of the corpus: .txt, one a line, or records with a column text."""
    max_seq_length: SequenceLength
    """Tokens of the student's; longer sentences are cut."""
    steps: Count
    global_batch: Count
    """Sentences per update."""
    peak_lr: Positive
    matrix_lr: Positive
    warmup_steps: Natural
    evaluate_every: Count
    """Updates between two scores, and two states."""

    def recipe(self, pretraining: PretrainParams) -> PretrainParams:
        """Return the recipe of pretraining with what is of distillation in its place."""
        own = self.model_dump(
            include={"max_seq_length", "steps", "global_batch", "peak_lr", "matrix_lr", "warmup_steps"}
        )
        none = dict.fromkeys(("epochs", "initial_batch", "ramp_steps", "final_seq_length", "init_from"))
        micro_batch = min(pretraining.micro_batch, self.global_batch)
        return pretraining.model_copy(update={**own, **none, "micro_batch": micro_batch})

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.warmup_steps >= self.steps:
            raise ValueError(
                f"warmup_steps {self.warmup_steps} leaves nothing of {self.steps} steps: lower it, or train longer"
            )
        return self


class DistillationSettings(Section):
    """All that distillation reads."""

    seed: Seed
    language: Language
    model: AnyModel
    distill: DistillParams
    recipe: PretrainParams
    """That of pretraining, with what `distill` says in its place."""
    compute: ComputeParams
