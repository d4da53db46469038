"""Time to loss: how long ours and the recipe of `transformers` take to the same validation MLM loss on the default run.

Both train the same architecture on the same windows of text and are scored by the same code on the fixed validation
set. A time is the number of updates times what an update takes on all cores, measured for both side by side: what else
the machine does during a long run is in no figure, and HF may leave out the logits that its loss ignores, which
changes no number of it, while an update of HF is timed as it stands. A time leaves out loading, scoring and resumable
states for both, and for HF making lists of its examples. HF's learning rate falls over the updates that fit, as if its
user had known.
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
from maskline.pretraining.run import PretrainingObjective
from maskline.settings.params import PARAMS, Params, load
from maskline.training.loop import Cadence, Metrics

SUBJECT = "time to loss"
SECONDS = 240.0
LEARNING_RATES = (3e-4, 1e-3, 3e-3)
"""Of HF; for a model this small the best is between the ends."""
MASKED = 0.15
"""The share that HF's collator masks by default; ours masks as the default run does."""
WARMUP_SHARE = 0.05
SHARES = (1 / 5, 2 / 5, 4 / 5)
"""Of HF's time: what ours is planned for, one after the other until its loss is reached."""
SCORES = 8
"""Of ours in a run."""
CHASE_SECONDS = 2400.0
CHASE_SCORES = 40
PACE_UPDATES = 20
"""In a turn of measuring what an update takes."""
RECORD = "time_to_loss_sweep.json"
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Pace:
    """What an update takes, in seconds."""

    ours: float
    hf: float


@dataclass(frozen=True)
class Score:
    """How far a run was."""

    seconds: float
    updates: int
    mlm_loss: float
    nsp_accuracy: float | None


def rows() -> list[Row]:
    """Run HF once, at the best learning rate of the recorded sweep, and ours until it is where HF came to.

    Raises:
        UserError: no sweep is recorded.
    """
    path = REPORTS / RECORD
    if not path.is_file():
        raise UserError(f"{path} is missing: run `python -m benchmarks time_to_loss --full` once, for an hour")
    record = read_json(path)
    params, data = _prepare()
    pace = measured_pace(params, data)
    return [_against_hf(params, data, pace, hugging_face(params, data, record["best"], SECONDS, pace)), _chase(record)]


def full_rows() -> list[Row]:
    """Try every learning rate of HF, then chase the loss that ours has after as long; record both."""
    params, data = _prepare()
    pace = measured_pace(params, data)
    sweep = {rate: hugging_face(params, data, rate, SECONDS, pace) for rate in LEARNING_RATES}
    best = min(sweep, key=lambda rate: sweep[rate][-1].mlm_loss)
    if best in (min(sweep), max(sweep)):
        typer.echo(f"HF's best learning rate, {best:g}, ends the sweep: a better one may lie beyond", err=True)
    record: dict[str, Any] = {
        "seconds": SECONDS,
        "pace": asdict(pace),
        "sweep": [{"peak_lr": rate, **asdict(scores[-1])} for rate, scores in sweep.items()],
        "best": best,
    }
    write_json(REPORTS / RECORD, record)  # the chase takes most of an hour and may not be seen to its end
    goal = ours(params, data, SECONDS, pace)[-1]
    chase = hugging_face(params, data, best, CHASE_SECONDS, pace, goal.mlm_loss)
    record |= {"ours": asdict(goal), "chase": [asdict(score) for score in chase]}
    write_json(REPORTS / RECORD, record)
    return [_against_hf(params, data, pace, sweep[best]), _chase(record)]


def _prepare() -> tuple[Params, Path]:
    torch.set_num_threads(cores())
    return resolved(load(PARAMS), CPU), reference_data()


def _against_hf(params: Params, data: Path, pace: Pace, theirs: list[Score]) -> Row:
    """Return how many times sooner ours reaches HF's last loss."""
    goal = theirs[-1]
    reached = next((score for share in SHARES if (score := _reach(params, data, pace, goal, share))), None)
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


def _reach(params: Params, data: Path, pace: Pace, goal: Score, share: float) -> Score | None:
    last = ours(params, data, share * goal.seconds, pace, goal.mlm_loss)[-1]
    return last if last.mlm_loss <= goal.mlm_loss else None


def _chase(record: dict[str, Any]) -> Row:
    """Return how many times longer HF takes to the loss that ours has after `SECONDS`."""
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


def measured_pace(params: Params, data: Path) -> Pace:
    """Return what an update of ours and of HF takes on this machine now, measured in turns."""
    contender, peer = Ours(params, data, CPU), _peer(HuggingFace, params, data, Recipe())
    batches = Features(contender.objective.batches).batched(params.pretrain.global_batch)

    contenders = {
        "ours": turn(contender.update, PACE_UPDATES),
        "HF": turn(lambda: peer.update(next(batches)), PACE_UPDATES),
    }
    rates = interleaved(contenders, "updates")
    return Pace(1 / rates["ours"].median, 1 / rates["HF"].median)


def _peer(kind: type[HuggingFace], params: Params, data: Path, recipe: Recipe) -> HuggingFace:
    masking = params.masking.model_copy(update={"rate": MASKED, "final_rate": None})
    return kind(params.model_copy(update={"masking": masking}), data / "tokenizer", recipe, CPU)


def hugging_face(
    params: Params, data: Path, peak_lr: float, seconds: float, pace: Pace, until: float | None = None
) -> list[Score]:
    """Train HF for as many updates as `seconds` hold, or until its validation MLM loss is `until` at most.

    It is scored at the end, and `CHASE_SCORES` times where there is an `until`; returns its scores, the last last.
    """
    updates = max(2, round(seconds / pace.hf))
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
        missing = from_hugging_face(judge.model, peer.model.state_dict())
        assert not missing
        scores.append(_score(done, pace.hf, judge.evaluate()))
        _say(f"HF, learning rate {peak_lr:g}", scores[-1])
        if until is not None and scores[-1].mlm_loss <= until:
            break
    return scores


def ours(params: Params, data: Path, seconds: float, pace: Pace, until: float | None = None) -> list[Score]:
    """Train ours by the product's loop for as many updates as `seconds` hold, or until its loss is `until` at most."""
    recipe = params.pretrain
    reference = objective(params, data, CPU).steps
    steps = max(2, round(seconds / pace.ours))
    warmup = min(steps - 1, round(recipe.warmup_steps * steps / max(steps, reference)))
    planned = recipe.model_copy(update={"steps": steps, "epochs": None, "warmup_steps": warmup})
    params = params.model_copy(update={"pretrain": planned})
    watched = Watched(params, data, pace, until)
    cadence = Cadence(max(1, steps // SCORES), recipe.checkpoint_every, recipe.log_every or steps)
    with suppress(Reached):
        train_silently(watched, params, steps, cadence)
    return watched.scores


class Reached(Exception):  # noqa: N818
    """The loss that a run was for."""


class Watched(PretrainingObjective):
    """The product's objective, whose scores are noted with the updates taken so far."""

    def __init__(self, params: Params, data: Path, pace: Pace, until: float | None) -> None:
        made = objective(params, data, CPU)
        super().__init__(made.model, made.batches, made.validation, params.pretraining(), CPU)
        self.pace = pace
        self.until = until
        self.scores: list[Score] = []

    def microbatches(self, step: int) -> list[Any]:
        """Return the batches of update `step`, which is counted."""
        self.updates = step + 1
        return super().microbatches(step)

    def evaluate(self) -> Metrics:
        """Score, note it, and end the run where that is what it was for."""
        metrics = super().evaluate()
        self.scores.append(_score(self.updates, self.pace.ours, metrics))
        _say("ours", self.scores[-1])
        if self.until is not None and self.scores[-1].mlm_loss <= self.until:
            raise Reached
        return metrics


def _score(updates: int, pace: float, metrics: Metrics) -> Score:
    assert metrics["mlm_loss"] is not None
    return Score(updates * pace, updates, metrics["mlm_loss"], metrics["nsp_accuracy"])


def _say(who: str, score: Score) -> None:
    typer.echo(f"{who}: {score.seconds:.0f} s, {score.updates:,} updates, MLM loss {score.mlm_loss:.3f}", err=True)
