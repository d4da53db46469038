"""The training loop, shared by pretraining and fine-tuning.

A *step* is one optimizer update, a *microbatch* one forward and backward pass. Losses are sums divided by the count of
their own targets in the whole step, over all microbatches and processes, so that cutting a batch differently changes
nothing.
"""

import math
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from types import FrameType
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from maskline.core.errors import UserError
from maskline.core.scores import finite
from maskline.examples.draws import key
from maskline.training import distributed
from maskline.training.devices import autocast, keyed_noise
from maskline.training.optimizers import build_optimizers
from maskline.training.prefetch import prepared
from maskline.training.progress import Reporter
from maskline.training.schedules import multiplier
from maskline.training.settings import OptimizerParams
from maskline.training.states import ResumableRun

Metrics = dict[str, float | None]


class Objective(Protocol):
    """What is trained: a model, its examples, its losses and its score."""

    @property
    def model(self) -> nn.Module:
        """Return what is trained."""

    @property
    def device(self) -> torch.device:
        """Return where it lies."""

    @property
    def loss_names(self) -> tuple[str, ...]:
        """Return the names of the losses, which are added up."""

    @property
    def train_columns(self) -> tuple[str, ...]:
        """Return the columns of the training curve."""

    @property
    def validation_columns(self) -> tuple[str, ...]:
        """Return the columns of the validation curve."""

    def epochs(self, step: int) -> float:
        """Return how often every example has been seen after `step` updates."""

    def update_ranges(self, first: int, steps: int) -> Iterable[range]:
        """Return the updates `first` to `steps` - 1 in ranges, each of which one set of processes may prepare."""

    def microbatches(self, step: int) -> list[Any]:
        """Return this process's share of the examples of update `step`, counted from 0."""

    def examples(self, step: int) -> list[int]:
        """Return the numbers of the examples of update `step`, to name them in an error."""

    def scheduled(self, step: int) -> dict[str, Any]:
        """Return what update `step` has by a schedule of the objective, to add to its row of the training curve."""

    def targets(self, microbatch: Any) -> dict[str, float]:
        """Return for each loss name how many targets it sums over, and under `tokens` the real tokens."""

    def losses(self, microbatch: Any) -> dict[str, Tensor]:
        """Return for each loss name the sum over a microbatch."""

    def evaluate(self) -> Metrics:
        """Score the validation set."""

    def criterion(self, metrics: Metrics) -> float | None:
        """Return what decides which weights are best: the lower the better."""


@dataclass
class Cadence:
    """Updates from one evaluation, saved state or row of the training curve to the next; None: one an epoch."""

    evaluate: int | None
    checkpoint: int
    log: int | None


@dataclass
class Progress:
    """Where a run stands: everything that a resumed one needs, beside weights and optimizers."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    best_step: int = 0
    best: float = math.inf
    targets: dict[str, float] = field(default_factory=dict)
    """How many targets each loss has summed over so far."""
    train: list[dict[str, Any]] = field(default_factory=list)
    validation: list[dict[str, Any]] = field(default_factory=list)
    window: dict[str, float] = field(default_factory=dict)
    """Sums since the last row of the training curve."""

    def count(self, targets: Mapping[str, float], sums: Mapping[str, float], norm: float) -> None:
        """Add an update to the row at hand."""
        self.step += 1
        self.tokens += int(targets["tokens"])
        for name in sums:
            self.targets[name] = self.targets.get(name, 0.0) + targets[name]
        values = (
            {f"{name}/targets": value for name, value in targets.items()} | dict(sums) | {"norm": norm, "steps": 1.0}
        )
        for name, value in values.items():
            self.window[name] = self.window.get(name, 0.0) + value

    def close_row(self, lr: float, objective: Objective) -> None:
        """Append the means since the last row to the training curve."""
        window = self.window
        means = {
            name: window[name] / window[f"{name}/targets"] if window[f"{name}/targets"] else None
            for name in objective.loss_names
        }
        self.train.append(
            {
                "step": self.step,
                "epoch": _epoch(self.step, objective),
                "tokens": self.tokens,
                "lr": lr,
                **means,
                "loss": sum(mean for mean in means.values() if mean is not None),
                "grad_norm": window["norm"] / window["steps"],
                **objective.scheduled(self.step - 1),
            }
        )
        self.window = {}

    def score(self, metrics: Metrics, objective: Objective) -> bool:
        """Append a row to the validation curve; return whether it is the best so far, which NaN and None never are."""
        self.validation.append({"step": self.step, "epoch": _epoch(self.step, objective), **metrics})
        criterion = objective.criterion(metrics)
        if criterion is None or not criterion < self.best:
            return False
        self.best, self.best_step = criterion, self.step
        return True

    def has_stalled(self, patience: int | None) -> bool:
        """Return whether the last `patience` scores, or more, were not better than the best before them."""
        return patience is not None and sum(row["step"] > self.best_step for row in self.validation) >= patience

    def best_row(self) -> dict[str, Any]:
        """Return the row of the validation curve that the best weights stand for.

        Raises:
            UserError: no score was finite.
        """
        for row in self.validation:
            if row["step"] == self.best_step:
                return row
        raise UserError("no score on the validation set was finite: lower the learning rate, or raise warmup_steps")


@dataclass
class Result:
    """What a finished run leaves: its curves and two sets of weights."""

    progress: Progress
    best_weights: dict[str, Tensor]


def train(
    objective: Objective,
    params: OptimizerParams,
    steps: int,
    cadence: Cadence,
    seed: int,
    run: ResumableRun,
    reporter: Reporter,
    loaders: int = 0,
) -> Result:
    """Train `objective.model` for `steps` updates, going on from where `run` was interrupted.

    With `params.patience` it ends before when the score no longer gets better.

    `loaders` processes prepare the examples ahead of the steps; no number depends on how many.

    Raises:
        UserError: the schedule does not fit `steps`, a loss or gradient is not finite (nothing is updated or saved), or
            the run was interrupted (the state is saved).
    """
    if error := params.schedule_error(steps):
        raise UserError(error)
    model, optimizers = objective.model, build_optimizers(objective.model, params)
    progress, best_weights = _resume(objective, optimizers, run)
    started = time.monotonic() - progress.seconds
    model.train()
    with _interruptible() as interrupted:
        for microbatches in prepared(objective.microbatches, _left(progress, params, steps, objective), loaders):
            scale = multiplier(progress.step, steps, params.warmup_steps, params.schedule, params.decay_share)
            targets, sums, norm = _update(objective, optimizers, microbatches, progress.step, scale, params, seed)
            progress.count(targets, sums, norm)
            numbers = {**_means(sums, targets), "lr": params.peak_lr * scale}
            reporter.update(progress.step, int(targets["tokens"]), numbers)

            last = progress.step == steps
            stop = distributed.sum_over_ranks([interrupted()], objective.device) != [0]
            if last or _due(cadence.log, progress.step, objective):
                _write_row(progress, params.peak_lr * scale, objective, run)
            if last or _due(cadence.evaluate, progress.step, objective):
                if _score(progress, objective, run, reporter):
                    best_weights = _copy(model)
                if not last and _has_stalled(progress, params, objective):
                    last = True
                    _write_row(progress, params.peak_lr * scale, objective, run)
                    reporter.stalled(progress.step, progress.best_step, params.patience)
            progress.seconds = time.monotonic() - started
            if (progress.step % cadence.checkpoint == 0 or last or stop) and distributed.rank() == 0:
                state = {"progress": asdict(progress), "weights": model.state_dict(), "best_weights": best_weights}
                run.save(progress.step, state | {"optimizers": [optimizer.state_dict() for optimizer in optimizers]})
            if stop:
                distributed.sum_over_ranks([0], objective.device)  # until the state is saved
                raise UserError(f"interrupted after step {progress.step} of {steps}; run the same command to go on")
            if last:
                break
    return Result(progress, best_weights)


def _write_row(progress: Progress, lr: float, objective: Objective, run: ResumableRun) -> None:
    """Close the row of the training curve at hand, if anything is in it."""
    if progress.window:
        progress.close_row(lr, objective)
        run.append_to_curve("train", progress.train[-1], objective.train_columns)


def _score(progress: Progress, objective: Objective, run: ResumableRun, reporter: Reporter) -> bool:
    """Score the weights as they are; return whether they are the best so far."""
    metrics = finite(objective.evaluate())
    is_best = progress.score(metrics, objective)
    run.append_to_curve("validation", progress.validation[-1], objective.validation_columns)
    reporter.evaluated(progress.step, metrics)
    return is_best


def _left(progress: Progress, params: OptimizerParams, steps: int, objective: Objective) -> Iterable[range]:
    """Return the updates that are left to do, in ranges: none where a run that ended early is taken up."""
    return () if progress.has_stalled(params.patience) else objective.update_ranges(progress.step, steps)


def _has_stalled(progress: Progress, params: OptimizerParams, objective: Objective) -> bool:
    """Return what the first process says, whose state is saved: scores of others might differ by rounding."""
    if params.patience is None:
        return False
    stalled = distributed.rank() == 0 and progress.has_stalled(params.patience)
    return distributed.sum_over_ranks([stalled], objective.device) != [0]


def _resume(
    objective: Objective, optimizers: list[torch.optim.Optimizer], run: ResumableRun
) -> tuple[Progress, dict[str, Tensor]]:
    """Take up the newest state of `run`, if there is one, and its curves; return progress and best weights so far."""
    model = objective.model
    progress, best_weights = Progress(), _copy(model)
    if state := run.load(objective.device):
        progress, best_weights = Progress(**state["progress"]), state["best_weights"]
        model.load_state_dict(state["weights"])
        for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
    if distributed.sum_over_ranks([progress.step], objective.device) != [progress.step * distributed.ranks()]:
        raise UserError(f"not every process of this run sees the same states in {run.directory}: let them share it")
    run.write_curve("train", progress.train, objective.train_columns)
    run.write_curve("validation", progress.validation, objective.validation_columns)
    return progress, best_weights


def _update(
    objective: Objective,
    optimizers: list[torch.optim.Optimizer],
    microbatches: list[Any],
    step: int,
    scale: float,
    params: OptimizerParams,
    seed: int,
) -> tuple[dict[str, float], dict[str, float], float]:
    """Take update `step` at `scale` times the peak rates; return its targets, summed losses and gradient norm."""
    targets, sums = _accumulate(objective, microbatches, step, params, seed)
    distributed.sum_gradients(objective.model)
    norm = nn.utils.clip_grad_norm_(objective.model.parameters(), params.clip_norm or math.inf).item()
    if not math.isfinite(norm + sum(sums.values())):
        raise UserError(_not_finite(objective, step, sums, norm))
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["peak_lr"] * scale
        optimizer.step()
        optimizer.zero_grad()
    return targets, sums, norm


def _accumulate(
    objective: Objective, microbatches: list[Any], step: int, params: OptimizerParams, seed: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Add up the gradients of a step; return the targets and the summed losses over all processes."""
    names = (*objective.loss_names, "tokens")
    counts = [objective.targets(microbatch) for microbatch in microbatches]
    targets = _total(names, counts, objective.device)
    parts = []
    for number, microbatch in enumerate(microbatches):
        place = distributed.rank() + number * distributed.ranks()
        noise = int(key(seed, "dropout", step, place)[0] >> 1)
        with keyed_noise(objective.device, noise), autocast(objective.device, params.precision):
            losses = objective.losses(microbatch)
        total = torch.stack([loss / (targets[name] or 1.0) for name, loss in losses.items()]).sum()
        total.backward()  # type: ignore[no-untyped-call]
        parts.append(torch.stack([losses[name].detach() for name in objective.loss_names]))
    # Read at the end alone: a device would have to finish each microbatch first.
    sums = [dict(zip(objective.loss_names, part, strict=True)) for part in torch.stack(parts).tolist()] if parts else []
    return targets, _total(objective.loss_names, sums, objective.device)


def _total(names: tuple[str, ...], parts: list[dict[str, float]], device: torch.device) -> dict[str, float]:
    totals = [sum(part[name] for part in parts) for name in names]
    return dict(zip(names, distributed.sum_over_ranks(totals, device), strict=True))


def _means(sums: Mapping[str, float], targets: Mapping[str, float]) -> dict[str, float]:
    return {name: value / targets[name] for name, value in sums.items() if targets[name]}


def _due(every: int | None, step: int, objective: Objective) -> bool:
    """Return whether what happens `every` so many updates, or once an epoch with None, happens after update `step`."""
    if every is not None:
        return step % every == 0
    # A ramp's epochs take ever fewer updates. Rounded, as an epoch may be a sum of parts of two sequence lengths.
    return int(round(objective.epochs(step), 9)) > int(round(objective.epochs(step - 1), 9))


def _epoch(step: int, objective: Objective) -> float:
    return round(objective.epochs(step), 4)


def _copy(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _not_finite(objective: Objective, step: int, sums: Mapping[str, float], norm: float) -> str:
    numbers = ", ".join(f"{name} {value:g}" for name, value in sums.items())
    examples = objective.examples(step)
    named = ", ".join(map(str, examples[:8])) + (" ..." if len(examples) > 8 else "")
    return (
        f"step {step + 1} is not finite ({numbers}, gradient norm {norm:g}; examples {named}): nothing was updated or "
        "saved; lower the learning rate, or raise warmup_steps"
    )


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Turn SIGINT and SIGTERM into a flag: the step at hand is finished and the state saved before the run ends."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        received.append(number)

    former = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
