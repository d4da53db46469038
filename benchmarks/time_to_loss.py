"""Time to loss: the time of ours and of the recipe of `transformers` to the same validation MLM loss, default run.

Both train the same architecture on the same windows of text. The same code scores both on the fixed validation set.

A time is the number of updates times the time of an update on all cores, measured for both side by side. So other work
of the machine during a long run does not count. In the long run HF leaves out the logits that its loss ignores, which
does not change its losses; its update is timed with all logits. A time does not include loading, scoring and resumable
states, and for HF not the making of its lists of examples. HF's learning rate falls over exactly the updates that fit
into the time, as if its user had known their number.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import typer

from benchmarks.corpus import reference_data
from benchmarks.measure import Row, Series, interleaved, turn
from benchmarks.ours import Features, Ours, objective, resolved, train_silently
from benchmarks.peers.hf import HuggingFace, LabelledHuggingFace
from benchmarks.peers.peer import Recipe, linear
from benchmarks.report import REPORTS, cores
from maskline.core.errors import UserError
from maskline.core.storage import read_json, write_json
from maskline.model.convert import from_hugging_face
from maskline.pretraining.objective import PretrainingObjective
from maskline.settings.params import PARAMS, Params, load
from maskline.training.loop import Cadence, Metrics

SUBJECT = "time to loss"
SECONDS = 240.0
LEARNING_RATES = (3e-4, 1e-3, 3e-3)
"""Learning rates of HF; for a model this small the best is not at the ends."""
MASKED = 0.15
"""The share that HF masks, its collator's default; ours masks as in the default run."""
WARMUP_SHARE = 0.05
SHARES = (1 / 5, 2 / 5, 4 / 5)
"""Shares of HF's time for which ours is planned, tried one after the other until it reaches HF's loss."""
SCORES = 8
"""How often ours is scored in a run."""
CHASE_SECONDS = 2400.0
CHASE_SCORES = 40
TURN_UPDATES = 20
"""Updates per turn when the time of an update is measured."""
RECORD = "time_to_loss_sweep.json"
CPU = torch.device("cpu")


@dataclass(frozen=True)
class UpdateSeconds:
    """The time of an update, in seconds."""

    ours: float
    hf: float


@dataclass(frozen=True)
class Score:
    """The scores of a run after some updates."""

    seconds: float
    updates: int
    mlm_loss: float
    nsp_accuracy: float | None


def rows() -> list[Row]:
    """Run HF once, at the best learning rate of the recorded sweep, and ours until it reaches HF's loss.

    Raises:
        UserError: no sweep is recorded.
    """
    path = REPORTS / RECORD
    if not path.is_file():
        raise UserError(f"{path} is missing: run `python -m benchmarks time_to_loss --full` once, for an hour")
    record = read_json(path)
    params, data = _prepare()
    per_update = measured_update_seconds(params, data)
    return [
        _against_hf(params, data, per_update, hugging_face(params, data, record["best"], SECONDS, per_update)),
        _chase(record),
    ]


def full_rows() -> list[Row]:
    """Try every learning rate of HF; then train HF until it has the loss of ours after the same time. Record both."""
    params, data = _prepare()
    per_update = measured_update_seconds(params, data)
    sweep = {rate: hugging_face(params, data, rate, SECONDS, per_update) for rate in LEARNING_RATES}
    best = min(sweep, key=lambda rate: sweep[rate][-1].mlm_loss)
    if best in (min(sweep), max(sweep)):
        typer.echo(f"HF's best learning rate, {best:g}, ends the sweep: a better one may lie beyond", err=True)
    record: dict[str, Any] = {
        "seconds": SECONDS,
        "pace": asdict(per_update),
        "sweep": [{"peak_lr": rate, **asdict(scores[-1])} for rate, scores in sweep.items()],
        "best": best,
    }
    write_json(REPORTS / RECORD, record)  # saved now: the rest takes most of an hour and may be stopped
    goal = ours(params, data, SECONDS, per_update)[-1]
    chase = hugging_face(params, data, best, CHASE_SECONDS, per_update, goal.mlm_loss)
    record |= {"ours": asdict(goal), "chase": [asdict(score) for score in chase]}
    write_json(REPORTS / RECORD, record)
    return [_against_hf(params, data, per_update, sweep[best]), _chase(record)]


def _prepare() -> tuple[Params, Path]:
    torch.set_num_threads(cores())
    return resolved(load(PARAMS), CPU), reference_data()


def _against_hf(params: Params, data: Path, per_update: UpdateSeconds, theirs: list[Score]) -> Row:
    """Return the row of HF's time over ours to HF's last loss."""
    goal = theirs[-1]
    reached = next((score for share in SHARES if (score := _reach(params, data, per_update, goal, share))), None)
    note = f"HF: {goal.mlm_loss:.3f} nats after {goal.updates:,} updates"
    if reached is None:
        return Row(SUBJECT, "HF, its best of three learning rates", None, 5.0, note=f"{note}; ours did not reach it")
    return Row(
        SUBJECT,
        "HF, its best of three learning rates",
        goal.seconds / reached.seconds,
        5.0,
        series=(Series("ours", "s", (reached.seconds,)), Series("HF", "s", (goal.seconds,))),
        note=f"{note}; ours: {reached.mlm_loss:.3f} after {reached.updates:,}",
    )


def _reach(params: Params, data: Path, per_update: UpdateSeconds, goal: Score, share: float) -> Score | None:
    last = ours(params, data, share * goal.seconds, per_update, goal.mlm_loss)[-1]
    return last if last.mlm_loss <= goal.mlm_loss else None


def _chase(record: dict[str, Any]) -> Row:
    """Return the row of HF's time over ours to the loss that ours has after `SECONDS`."""
    if "chase" not in record:
        return Row(
            SUBJECT, f"HF to the loss of ours at {SECONDS:.0f} s", None, None, note="not measured: --full takes an hour"
        )
    goal, last = Score(**record["ours"]), Score(**record["chase"][-1])
    reached = last.mlm_loss <= goal.mlm_loss
    outcome = "reached it" if reached else f"was stopped at {last.mlm_loss:.3f}: the ratio is a lower bound"
    return Row(
        SUBJECT,
        f"HF to the loss of ours at {goal.seconds:.0f} s",
        last.seconds / goal.seconds,
        None,
        series=(Series("ours", "s", (goal.seconds,)), Series("HF", "s", (last.seconds,))),
        note=f"recorded by --full; ours: {goal.mlm_loss:.3f} nats; HF {outcome}",
    )


def measured_update_seconds(params: Params, data: Path) -> UpdateSeconds:
    """Return the time of an update of ours and of HF on this machine, measured in turns."""
    contender, peer = Ours(params, data, CPU), _peer(HuggingFace, params, data, Recipe())
    batches = Features(contender.objective.batches).batched(params.pretrain.global_batch)

    contenders = {
        "ours": turn(contender.update, TURN_UPDATES),
        "HF": turn(lambda: peer.update(next(batches)), TURN_UPDATES),
    }
    rates = interleaved(contenders, "updates")
    return UpdateSeconds(1 / rates["ours"].median, 1 / rates["HF"].median)


def _peer(kind: type[HuggingFace], params: Params, data: Path, recipe: Recipe) -> HuggingFace:
    masking = params.masking.model_copy(update={"rate": MASKED, "final_rate": None})
    return kind(params.model_copy(update={"masking": masking}), data / "tokenizer", recipe, CPU)


def hugging_face(
    params: Params, data: Path, peak_lr: float, seconds: float, per_update: UpdateSeconds, until: float | None = None
) -> list[Score]:
    """Train HF for the updates that fit into `seconds`, or until its validation MLM loss is at most `until`.

    It is scored at the end, or, with `until`, `CHASE_SCORES` times. Return its scores in their order.
    """
    updates = max(2, round(seconds / per_update.hf))
    warmup = max(1, round(WARMUP_SHARE * updates))
    judge = objective(params, data, CPU)
    recipe = Recipe(peak_lr, lambda step: linear(step + 1, updates, warmup))
    peer = _peer(LabelledHuggingFace, params, data, recipe)
    batches = Features(judge.batches).batched(params.pretrain.global_batch)
    every = updates if until is None else max(1, updates // CHASE_SCORES)
    scores: list[Score] = []
    for done in range(1, updates + 1):
        peer.update(next(batches))
        if done % every and done < updates:
            continue
        fit = from_hugging_face(judge.model, peer.model.state_dict())
        assert not fit.missing
        scores.append(_score(done, per_update.hf, judge.evaluate()))
        _say(f"HF, learning rate {peak_lr:g}", scores[-1])
        if until is not None and scores[-1].mlm_loss <= until:
            break
    return scores


def ours(
    params: Params, data: Path, seconds: float, per_update: UpdateSeconds, until: float | None = None
) -> list[Score]:
    """Train ours with the product's loop for the updates that fit into `seconds`, or until its loss is `until`."""
    recipe = params.pretrain
    reference = objective(params, data, CPU).steps
    steps = max(2, round(seconds / per_update.ours))
    warmup = min(steps - 1, round(recipe.warmup_steps * steps / max(steps, reference)))
    planned = recipe.model_copy(update={"steps": steps, "epochs": None, "warmup_steps": warmup})
    params = params.model_copy(update={"pretrain": planned})
    watched = Watched(params, data, per_update, until)
    cadence = Cadence(max(1, steps // SCORES), recipe.checkpoint_every, recipe.log_every or steps)
    with suppress(Reached):
        train_silently(watched, params, steps, cadence)
    return watched.scores


class Reached(Exception):  # noqa: N818
    """A run has reached the loss `until`."""


class Watched(PretrainingObjective):
    """The product's objective, which also records its scores and updates."""

    def __init__(self, params: Params, data: Path, per_update: UpdateSeconds, until: float | None) -> None:
        made = objective(params, data, CPU)
        super().__init__(made.model, made.batches, made.validation, params.pretraining(), CPU)
        self.per_update = per_update
        self.until = until
        self.scores: list[Score] = []

    def microbatches(self, step: int) -> list[Any]:
        """Return the batches of update `step`, and count it."""
        self.updates = step + 1
        return super().microbatches(step)

    def evaluate(self) -> Metrics:
        """Return the scores and record them; end the run if its loss is at most `until`.

        Raises:
            Reached: the run has ended.
        """
        metrics = super().evaluate()
        self.scores.append(_score(self.updates, self.per_update.ours, metrics))
        _say("ours", self.scores[-1])
        if self.until is not None and self.scores[-1].mlm_loss <= self.until:
            raise Reached
        return metrics


def _score(updates: int, update_seconds: float, metrics: Metrics) -> Score:
    assert metrics["mlm_loss"] is not None
    return Score(updates * update_seconds, updates, metrics["mlm_loss"], metrics["nsp_accuracy"])


def _say(who: str, score: Score) -> None:
    typer.echo(f"{who}: {score.seconds:.0f} s, {score.updates:,} updates, MLM loss {score.mlm_loss:.3f}", err=True)
