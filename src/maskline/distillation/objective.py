"""What the training loop needs of distillation: a student's vectors of sentences, held against those of a teacher."""

# Dimensions: B sentences of a batch, N tokens of them all, D numbers of a student's vector, E of a teacher's.

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from maskline.examples.batches import microbatch_slices
from maskline.finetuning.objective import ExamplesInOrder
from maskline.finetuning.scorer import TorchScorer
from maskline.pretraining.settings import PretrainParams
from maskline.tasks.similarity.measures import correlations
from maskline.tasks.similarity.model import SimilarityModel, unit_vectors
from maskline.tasks.similarity.pairs import all_vectors
from maskline.tokenization.texts import EncodedTexts, Packed
from maskline.training import distributed
from maskline.training.loop import Metrics


@dataclass(frozen=True)
class Taught:
    """Sentences as the student reads them, and what the teacher says of each."""

    texts: EncodedTexts
    vectors: NDArray[np.float16]
    """(N, E), each of length 1."""


@dataclass(frozen=True)
class TaughtBatch:
    """B sentences with what the student is to say of them."""

    texts: Packed
    wanted: NDArray[np.float32]
    """(B, D), each of length 1."""


class DistillationObjective(ExamplesInOrder):
    """The distance 1 - cosine of the student's mean-pooled vectors to the teacher's, reduced to as many numbers.

    As the reduction keeps the teacher's cosines as well as so few numbers can, the student's mean the same as theirs,
    and nothing has to stand between the two.
    """

    loss_names: tuple[str, ...] = ("loss",)
    train_columns: tuple[str, ...] = ("step", "epoch", "tokens", "lr", "loss", "grad_norm")
    validation_columns: tuple[str, ...] = ("step", "epoch", "loss", "spearman", "pearson")

    def __init__(
        self,
        model: SimilarityModel,
        training: Taught,
        validation: Taught,
        reduced: NDArray[np.float32],
        recipe: PretrainParams,
        seed: int,
        device: torch.device,
    ) -> None:
        """Teach `model`; `reduced`, (E, D), makes what it is to say of a teacher's vector."""
        super().__init__(training.texts.sizes, recipe.global_batch, seed)
        self.model = model
        self.training = training
        self.validation = validation
        self.reduced = reduced
        self.micro_batch = recipe.micro_batch
        self.device = device

    def microbatches(self, step: int) -> list[TaughtBatch]:
        """Return this process's share of update `step`."""
        _, rows = self.rows(step)
        parts = microbatch_slices(len(rows), self.micro_batch, distributed.rank(), distributed.ranks())
        return [TaughtBatch(self.training.texts.packed(rows[part]), self._wanted(rows[part])) for part in parts]

    def _wanted(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return unit(self.training.vectors[rows].astype(np.float32) @ self.reduced)

    def targets(self, batch: TaughtBatch) -> dict[str, float]:
        """Return the sentences and the tokens."""
        return {"loss": len(batch.wanted), "tokens": len(batch.texts.input_ids)}

    def losses(self, batch: TaughtBatch) -> dict[str, Tensor]:
        """Return the summed distance."""
        found = unit_vectors(self.model, batch.texts, self.device)
        wanted = torch.from_numpy(batch.wanted).to(self.device)
        return {"loss": (1 - F.cosine_similarity(found, wanted)).sum()}

    def evaluate(self) -> Metrics:
        """Score the validation sentences; every process does all of it.

        Beside the loss: how the student's cosine of each sentence and the next one goes with the teacher's, all of its
        numbers taken.
        """
        found = all_vectors(TorchScorer(self.model, self.device, unit_vectors), self.validation.texts)
        teacher = self.validation.vectors.astype(np.float32)
        loss = float(1 - (found * unit(teacher @ self.reduced)).sum(1).mean())
        pairs = (np.einsum("nd,nd->n", part[:-1], part[1:]) for part in (teacher, found))
        return {"loss": loss, **correlations(*pairs)}

    def criterion(self, metrics: Metrics) -> float | None:
        """Return the loss."""
        return metrics["loss"]


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors, (N, D), each of length 1; one that is 0 stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return scaled
