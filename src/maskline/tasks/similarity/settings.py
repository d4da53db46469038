"""What a tasks/NAME.yaml of this kind holds."""

from typing import Literal, Self

from pydantic import model_validator

from maskline.core.section import Positive
from maskline.dataset.settings import DatasetSettings
from maskline.finetuning.settings import FinetuneParams
from maskline.tasks.settings import TaskSettings


class SimilarityDataset(DatasetSettings):
    """Pairs of texts: each with a score, or all of them of texts that belong together."""

    columns: list[str] | None
    """Names of the columns of .csv and .tsv files without a header, as those of the STS Benchmark: a TAB between
    fields, quotation marks are text, and fields behind the last name are left out. None: the first line has the names.
    """
    first_column: str
    second_column: str
    score_column: str | None
    """None: the pairs have no score, and their texts belong together."""
    score_range: tuple[float, float]
    """The lowest and the highest score that there can be, for a cosine of 0 and of 1."""
    negative_column: str | None
    """A text that looks like the second and does not belong to the first; it may be empty. None: there is none."""

    @property
    def used(self) -> list[str]:
        """Return the columns that an example is made of."""
        columns = (self.first_column, self.second_column, self.score_column, self.negative_column)
        return [column for column in columns if column is not None]

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        if len(set(self.used)) < len(self.used):
            raise ValueError(f"{', '.join(self.used)}: give each of these columns a name of its own")
        if self.columns is not None:
            if len(set(self.columns)) < len(self.columns):
                raise ValueError("columns must differ from one another")
            if absent := [column for column in self.used if column not in self.columns]:
                raise ValueError(f"columns has no {absent[0]}: add it, or give null where the first line has the names")
        if self.score_range[0] >= self.score_range[1]:
            raise ValueError("score_range must be the lowest score and then the highest")
        return self


class SimilarityRecipe(FinetuneParams):
    """The fine-tuning of an encoder of texts."""

    objective: Literal["cosine", "contrastive"]
    """cosine: the squared distance of the cosine to the score, where `score_range` is [0, 1].

    contrastive: each text finds the other of its pair among those of the batch (InfoNCE, van den Oord et al. 2018).
    """
    temperature: Positive
    """Of contrastive: what cosines are divided by before the softmax."""
    positive_from: float | None
    """Of contrastive, where pairs have scores: those with this one or a higher are trained on."""

    @model_validator(mode="after")
    def _check_method(self) -> Self:
        if self.method == "probe":
            raise ValueError("method probe trains the head alone, and vectors are compared without one: give another")
        return self

    @model_validator(mode="after")
    def _check_batch(self) -> Self:
        if self.objective == "contrastive" and self.micro_batch != self.global_batch:
            raise ValueError(
                f"objective contrastive compares the pairs of a pass: micro_batch {self.micro_batch} must be "
                f"global_batch {self.global_batch}"
            )
        return self


class Settings(TaskSettings):
    """All of the file."""

    kind: Literal["similarity"]
    dataset: SimilarityDataset
    finetune: SimilarityRecipe

    @model_validator(mode="after")
    def _check_objective(self) -> Self:
        scored, contrastive = self.dataset.score_column is not None, self.finetune.objective == "contrastive"
        low, high = self.dataset.score_range
        threshold = self.finetune.positive_from
        if not scored and not contrastive:
            raise ValueError("dataset.score_column is null: finetune.objective cosine needs scores, give contrastive")
        if not contrastive and self.dataset.negative_column is not None:
            raise ValueError("finetune.objective cosine knows no dataset.negative_column: give null, or contrastive")
        if scored and contrastive and (threshold is None or not low < threshold <= high):
            raise ValueError(
                "finetune.objective contrastive trains on pairs with a high score: give finetune.positive_from, above "
                f"{low:g} and up to {high:g}"
            )
        return self
