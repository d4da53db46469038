"""The section `pretrain` of params.yaml, and all that a pretraining run reads."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from maskline.core.section import Count, Language, Section, Seed, SequenceLength
from maskline.examples.settings import MaskingParams
from maskline.model.settings import AnyModel
from maskline.training.settings import ComputeParams, OptimizerParams

MODELS = ("data/models/pretrained", "data/models/pretrained-last")
"""What the stage writes."""


class PretrainParams(OptimizerParams):
    """The pretraining run."""

    init_from: Annotated[str, Field(min_length=1)] | None
    """The directory of the model to go on from; None: random weights."""
    initial_batch: Count | None
    ramp_steps: Count | None
    nsp: bool
    max_seq_length: SequenceLength
    final_seq_length: SequenceLength | None
    final_share: Annotated[float, Field(gt=0, lt=1)]
    unigram_bias: bool
    evaluate_every: Count | None
    checkpoint_every: Count
    log_every: Count | None

    def lengthens_at(self, steps: int) -> int:
        """Return the first update of `steps`, counted from 0, at `final_seq_length`; `steps` where there is none."""
        return steps - round(self.final_share * steps) if self.final_seq_length else steps

    def schedule_error(self, steps: int) -> str | None:
        """Return why schedule, ramp or lengths do not fit a run of `steps` updates, or None where they do."""
        switch = self.lengthens_at(steps)
        if self.final_seq_length and not 0 < switch < steps:
            return (
                f"final_share {self.final_share:g} of {steps} steps is {'none' if switch else 'all'} of them: "
                f"{'raise' if switch else 'lower'} it, or train longer"
            )
        if self.final_seq_length and (self.ramp_steps or 0) > switch:
            return f"ramp_steps {self.ramp_steps} ends after the {switch} updates before final_seq_length: lower it"
        if self.ramp_steps is not None and self.ramp_steps >= steps:
            return f"ramp_steps {self.ramp_steps} leaves nothing of {steps} steps: lower it, or train longer"
        return super().schedule_error(steps)

    @model_validator(mode="after")
    def _check_init_from(self) -> Self:
        if self.init_from and any(Path(self.init_from).resolve() == Path(out).resolve() for out in MODELS):
            raise ValueError(
                f"init_from {self.init_from} is what this stage writes, and DVC removes it before it runs: copy it to "
                "another folder, as docs/domain.md shows, and name that"
            )
        return self

    @model_validator(mode="after")
    def _check_ramp(self) -> Self:
        if (self.initial_batch is None) != (self.ramp_steps is None):
            raise ValueError("give initial_batch and ramp_steps, or leave both null")
        if self.initial_batch and self.global_batch % self.initial_batch:
            raise ValueError(f"initial_batch {self.initial_batch} does not divide global_batch {self.global_batch}")
        if self.final_seq_length and self.final_seq_length <= self.max_seq_length:
            raise ValueError(
                f"final_seq_length {self.final_seq_length} is not longer than max_seq_length {self.max_seq_length}: "
                "raise it, or leave it null"
            )
        return self


class PretrainingSettings(Section):
    """All that a pretraining run reads."""

    seed: Seed
    language: Language
    """Of the model card."""
    masking: MaskingParams
    model: AnyModel
    pretrain: PretrainParams
    compute: ComputeParams
