"""What the training loop needs of several tasks: an update is one of one task, which is drawn."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskline.examples.draws import draw, key, uniform
from maskline.finetuning.objective import FinetuningObjective
from maskline.multitask.model import SharedModel
from maskline.training.loop import Metrics

SCORE = "score"
"""The mean over the tasks of the score that decides."""


def shares(examples: Mapping[str, int], power: float) -> dict[str, float]:
    """Return each task's share of the updates: its number of `examples` to `power`, over the sum of those of all."""
    sizes = {name: float(count) ** power for name, count in examples.items()}
    return {name: size / sum(sizes.values()) for name, size in sizes.items()}


class Mixture:
    """Which task each update is of, drawn by its number alone, and the how-manieth of the task it is."""

    def __init__(self, probabilities: Sequence[float], steps: int, seed: int) -> None:
        """Draw `steps` updates among as many tasks as there are `probabilities`, which add up to 1."""
        self._count = len(probabilities)
        bounds = np.cumsum(probabilities)[:-1]  # the last one is 1 but for rounding
        self.tasks = np.searchsorted(bounds, uniform(draw(key(seed, "task of an update"), np.arange(steps))), "right")
        self.numbers = np.empty(steps, np.int64)
        for task in range(self._count):
            (own,) = np.nonzero(self.tasks == task)
            self.numbers[own] = np.arange(len(own))

    def at(self, step: int) -> tuple[int, int]:
        """Return the task of update `step` and the number of the update among those of the task, both from 0."""
        return int(self.tasks[step]), int(self.numbers[step])

    def updates(self, steps: int) -> list[int]:
        """Return how many of the first `steps` updates are of each task."""
        found: list[int] = np.bincount(self.tasks[:steps], minlength=self._count).tolist()
        return found


class MultitaskObjective:
    """The losses of several tasks on one encoder; the weights with the best mean of their scores are kept."""

    def __init__(
        self,
        parts: Mapping[str, FinetuningObjective],
        weights: Mapping[str, float],
        mixture: Mixture,
        device: torch.device,
    ) -> None:
        """Join what is trained of each task.

        Args:
            parts: name -> its network, examples and order.
            weights: name -> what its loss is multiplied by; 1 where it is not named.
            mixture: which task an update is of, by its place in `parts`.
            device: where the networks are.
        """
        self.model = SharedModel({name: part.model for name, part in parts.items()})
        self.device = device
        self._parts = tuple(parts.values())
        self._weights = [weights.get(name, 1.0) for name in parts]
        self._mixture = mixture
        self._names = tuple(parts)
        self.loss_names: tuple[str, ...] = tuple(f"{name}_loss" for name in parts)
        self.train_columns: tuple[str, ...] = (
            "step", "epoch", "tokens", "lr", *self.loss_names, "loss", "grad_norm",
        )  # fmt: skip
        self.validation_columns: tuple[str, ...] = (
            "step", "epoch", SCORE, *(f"{n}_{m}" for n, p in parts.items() for m in ("loss", *p.task.metrics)),
        )  # fmt: skip

    @cached_property
    def steps_per_epoch(self) -> int:
        """Return the updates that see the examples of every task once, were each task's share that of its size."""
        return sum(part.steps_per_epoch for part in self._parts)

    def epochs(self, step: int) -> float:
        """Return how often an example has been seen after `step` updates, over those of all tasks."""
        return step / self.steps_per_epoch

    def update_ranges(self, first: int, steps: int) -> list[range]:
        """Return the updates `first` to `steps` - 1: all are made from the same tables."""
        return [range(first, steps)]

    def microbatches(self, step: int) -> list[tuple[int, Any]]:
        """Return this process's share of update `step`, each with the number of its task."""
        task, number = self._mixture.at(step)
        return [(task, batch) for batch in self._parts[task].microbatches(number)]

    def examples(self, step: int) -> list[int]:
        """Return the numbers of the examples of update `step`, within their task."""
        task, number = self._mixture.at(step)
        return self._parts[task].examples(number)

    def scheduled(self, step: int) -> dict[str, Any]:  # noqa: ARG002
        """Return nothing: the learning rate alone has a schedule."""
        return {}

    def targets(self, microbatch: tuple[int, Any]) -> dict[str, float]:
        """Return what the loss of the microbatch's task is divided by, 0 for the others, and its tokens."""
        task, batch = microbatch
        counts = self._parts[task].targets(batch)
        return dict.fromkeys(self.loss_names, 0.0) | {self.loss_names[task]: counts["loss"], "tokens": counts["tokens"]}

    def losses(self, microbatch: tuple[int, Any]) -> dict[str, Tensor]:
        """Return the summed loss of the microbatch's task times its weight, and 0 for the others."""
        task, batch = microbatch
        nothing = torch.zeros((), device=self.device)
        own = self._parts[task].losses(batch)["loss"] * self._weights[task]
        return dict.fromkeys(self.loss_names, nothing) | {self.loss_names[task]: own}

    def evaluate(self) -> Metrics:
        """Score the validation split of each task; every process does all of it."""
        found = {name: part.evaluate() for name, part in zip(self._names, self._parts, strict=True)}
        decisive = [found[name][part.task.criterion] for name, part in zip(self._names, self._parts, strict=True)]
        mean = sum(score for score in decisive if score is not None) / len(decisive) if None not in decisive else None
        return {SCORE: mean} | {
            f"{name}_{metric}": value for name, own in found.items() for metric, value in own.items()
        }

    def criterion(self, metrics: Metrics) -> float | None:
        """Return the mean score, negated, where every loss is a number."""
        score = metrics[SCORE]
        return None if score is None or any(metrics[name] is None for name in self.loss_names) else -score
