"""The section `finetune`: the recipe of all tasks; and all that training and scoring a task read."""

from collections.abc import Callable
from typing import Literal, Self

from pydantic import SerializeAsAny, model_validator

from maskline.adapters.settings import TuningParams
from maskline.core.section import Count, Dropout, Language, Natural, Positive, Section, Seed, SequenceLength
from maskline.examples.settings import MaskRate
from maskline.model.settings import AnyModel
from maskline.training.settings import ComputeParams, OptimizerParams


class FinetuneParams(TuningParams, OptimizerParams):
    """The fine-tuning run of a task."""

    max_seq_length: SequenceLength
    dropout: Dropout
    min_steps: Count | None = None
    """Updates at least: where `epochs` have fewer, more epochs are run, and scores are taken as often as without them.
    A run of `steps` has as many as it says. None: `epochs` as they are."""
    text_epochs: Natural
    """Epochs over the texts of the train split before their labels are read, on masked tokens, as in pretraining.
    0: none. What starts from random weights has none."""
    text_peak_lr: Positive
    """`peak_lr` of these epochs; what has no name of its own here is as with labels."""
    text_matrix_lr: Positive
    text_mask_rate: MaskRate
    """Share of the tokens to predict in these epochs."""

    def from_start(self, *, pretrained: bool) -> Self:
        """Return the recipe of a network that starts from pretrained or from random weights.

        Random weights are nothing to stand on, so all of them are trained.
        """
        if not pretrained:
            return self.model_copy(update={"method": "full"})
        return self.model_copy(update={"optimizer": "adamw", "peak_lr": self.method_lr}) if self.few else self

    def on_texts(self) -> "FinetuneParams":
        """Return the recipe of the epochs on texts."""
        rates = {"peak_lr": self.text_peak_lr, "matrix_lr": self.text_matrix_lr}
        return self.model_copy(
            update=rates | {"steps": None, "epochs": self.text_epochs, "min_steps": None, "patience": None}
        )

    def total_epochs(self, updates: Callable[[int], int]) -> int:
        """Return the epochs of a run by `epochs`; `updates` says how many updates some epochs take."""
        return max(self.epochs or 0, -(-(self.min_steps or 0) // updates(1)))

    def total_steps(self, updates: Callable[[int], int]) -> int:
        """Return the length of the run in updates; `updates` says how many some epochs take."""
        return self.steps or updates(self.total_epochs(updates))

    def evaluate_every(self, updates: Callable[[int], int]) -> int:
        """Return the updates between two scores, and two states: an epoch, or several where `min_steps` adds some."""
        return updates(self.total_epochs(updates) // self.epochs if self.epochs else 1)

    @model_validator(mode="after")
    def _check_texts(self) -> Self:
        if self.few and self.text_epochs:
            raise ValueError(
                f"text_epochs {self.text_epochs} trains the encoder, which method {self.method} leaves as it is: give 0"
            )
        return self


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
    model: AnyModel
    """The architecture of the model that is pretrained here."""
    recipe: SerializeAsAny[FinetuneParams]
    compute: ComputeParams
