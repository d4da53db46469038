"""What the training loop needs of a task."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskline.examples.batches import microbatch_slices
from maskline.examples.order import Order
from maskline.finetuning.settings import FinetuneParams
from maskline.finetuning.task import AnyTask, Encoded
from maskline.model.heads import EncoderModel
from maskline.training import distributed
from maskline.training.loop import Metrics


class ExamplesInOrder:
    """Which examples an update takes: each once an epoch, in an order of its own, those of nearly one length together.

    It has what the training loop asks of any objective whose updates are made so.
    """

    def __init__(self, sizes: NDArray[np.int64], global_batch: int, seed: int) -> None:
        self.sizes = sizes
        self.order = Order(sizes, global_batch, seed)
        self.steps_per_epoch = self.order.batches_per_epoch

    def updates(self, epochs: int) -> int:
        """Return how many updates see every example `epochs` times."""
        return epochs * self.steps_per_epoch

    def epochs(self, step: int) -> float:
        """Return how often every example has been seen after `step` updates."""
        return step / self.steps_per_epoch

    def update_ranges(self, first: int, steps: int) -> list[range]:
        """Return the updates `first` to `steps` - 1: all are made from the same tables."""
        return [range(first, steps)]

    def examples(self, step: int) -> list[int]:
        """Return the numbers of the examples of update `step`."""
        rows: list[int] = self.rows(step)[1].tolist()
        return rows

    def rows(self, step: int) -> tuple[int, NDArray[np.int64]]:
        """Return the epoch of update `step`, counted from 0, and its examples in order of length."""
        epoch, positions = self.order.positions(step)
        rows = self.order.at(epoch, positions)
        return epoch, rows[np.argsort(self.sizes[rows], kind="stable")]

    def scheduled(self, step: int) -> dict[str, Any]:  # noqa: ARG002
        """Return nothing: the learning rate alone has a schedule."""
        return {}


class FinetuningObjective(ExamplesInOrder):
    """The loss of a task; the epoch with the best score on the validation split is kept."""

    loss_names: tuple[str, ...] = ("loss",)
    train_columns: tuple[str, ...] = ("step", "epoch", "tokens", "lr", "loss", "grad_norm")

    def __init__(
        self,
        task: AnyTask,
        model: EncoderModel,
        training: Encoded,
        validation: Encoded,
        recipe: FinetuneParams,
        seed: int,
        device: torch.device,
    ) -> None:
        super().__init__(training.sizes, recipe.global_batch, seed)
        self.task = task
        self.model = model
        self.training = training
        self.validation = validation
        self.micro_batch = recipe.micro_batch
        self.device = device
        self.validation_columns: tuple[str, ...] = ("step", "epoch", "loss", *task.metrics)

    def microbatches(self, step: int) -> list[Any]:
        """Return this process's share of update `step`."""
        _, rows = self.rows(step)
        parts = microbatch_slices(len(rows), self.micro_batch, distributed.rank(), distributed.ranks())
        return [self.task.batch(self.training, rows[part]) for part in parts]

    def targets(self, microbatch: Any) -> dict[str, float]:
        """Return what the loss of a microbatch is divided by, and its tokens."""
        return self.task.targets(microbatch)

    def losses(self, microbatch: Any) -> dict[str, Tensor]:
        """Return the summed loss."""
        return {"loss": self.task.loss(self.model, microbatch, self.device)}

    def evaluate(self) -> Metrics:
        """Score the validation split; every process does all of it."""
        return {**self.task.scores(self.validation, self.task.predict(self.model, self.validation, self.device))}

    def criterion(self, metrics: Metrics) -> float | None:
        """Return the score that decides, negated: unlike the loss it falls only when decisions get worse.

        Logits that are no numbers give decisions as well, so the loss must be one.
        """
        score = metrics[self.task.criterion]
        return None if metrics["loss"] is None or score is None else -score
