"""What every training run has in its section: how a step is taken; and the section `compute`, where it is taken."""

from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from maskline.core.section import Count, Natural, NonNegative, Positive, Section

Schedule = Literal["linear", "constant", "cosine", "noam", "trapezoid"]
Precision = Literal["auto", "fp32", "bf16"]


class OptimizerParams(Section):
    """How a step is taken: shared by pretraining and fine-tuning."""

    optimizer: Literal["adamw", "muon"]
    peak_lr: Positive
    matrix_lr: Positive
    beta1: Annotated[float, Field(ge=0, lt=1)]
    beta2: Annotated[float, Field(ge=0, lt=1)]
    eps: Positive
    weight_decay: NonNegative
    clip_norm: Positive | None
    schedule: Schedule
    warmup_steps: Natural
    decay_share: Annotated[float, Field(gt=0, le=1)]
    global_batch: Count
    micro_batch: Count
    precision: Precision
    steps: Count | None
    epochs: Count | None
    patience: Count | None
    """Evaluations in a row without a better score after which a run ends; None: it does all of its steps."""

    def total_steps(self, updates: Callable[[int], int]) -> int:
        """Return the length of the run in updates; `updates` says how many some epochs take."""
        return self.steps or updates(self.epochs or 0)

    def schedule_error(self, steps: int) -> str | None:
        """Return why the schedule does not fit a run of `steps` updates, or None where it does.

        Noam's has no end that a run must reach, and may be left in its warm-up.
        """
        if self.warmup_steps >= steps and self.schedule != "noam":
            return f"warmup_steps {self.warmup_steps} leaves nothing of {steps} steps: lower it, or train longer"
        if self.schedule == "trapezoid" and self.warmup_steps + self.decay_share * steps >= steps + 1:
            return (
                f"warmup_steps {self.warmup_steps} and decay_share {self.decay_share:g} overlap in {steps} steps: "
                "lower one, or train longer"
            )
        return None

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("give steps or epochs, and leave the other null")
        if self.schedule == "noam" and self.warmup_steps == 0:
            raise ValueError("schedule noam reaches peak_lr at the end of the warm-up: give warmup_steps of 1 or more")
        if self.steps is not None and (error := self.schedule_error(self.steps)):
            raise ValueError(error)
        if self.micro_batch > self.global_batch:
            raise ValueError(f"micro_batch {self.micro_batch} is more than global_batch {self.global_batch}")
        return self


class ComputeParams(Section):
    """Where and how the work is done; it never changes what is computed."""

    device: Annotated[str, Field(pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$")]
    threads: Natural
    workers: Natural
    loaders: Natural | None
    compile: bool
    progress: Literal["auto", "bar", "lines"]
