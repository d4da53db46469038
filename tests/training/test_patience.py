"""A run that no longer gets better ends itself, if it is told to; interrupted or not, with the same bits."""

import math
from functools import partial

import pytest

from maskline.core.errors import UserError
from maskline.core.storage import read_csv, read_json
from maskline.training.loop import Progress
from tests.tiny import tiny_params
from tests.training import faults
from tests.training.processes import Command, group
from tests.training.runs import Objective, contents, newest_state, run, run_in_parts, same
from tests.training.test_processes import options, outcome


def params(**changes):
    changes = {f"pretrain.{key}": value for key, value in changes.items()}
    changes = {"pretrain.steps": 30, "pretrain.evaluate_every": 2, "pretrain.log_every": 5} | changes
    return tiny_params({"model.dropout": 0.1, "pretrain.checkpoint_every": 4} | changes).pretraining()


def scored(data, recipe, scores, interrupt_at=None):
    """Return an objective whose n-th score is the n-th of `scores`, whatever is trained; the last one is repeated."""
    objective = Objective(data, recipe, interrupt_at)
    seen = {}
    objective.weights = seen

    def evaluate():
        step = objective.taken
        seen[step] = {name: tensor.clone() for name, tensor in objective.model.state_dict().items()}
        loss = scores[min(step // 2, len(scores)) - 1]
        return {"mlm_loss": loss, "mlm_accuracy": 0.5, "nsp_loss": 0.0, "nsp_accuracy": 0.5, "loss": loss}

    microbatches = objective.microbatches

    def counted(step):
        objective.taken = step + 1
        return microbatches(step)

    objective.evaluate, objective.microbatches = evaluate, counted
    return objective


@pytest.mark.parametrize(
    ("patience", "scores", "best", "end"),
    [
        (1, [5.0, 4.0, 4.0, 3.0], 4, 6),  # no better is enough
        (2, [5.0, 4.0, 4.5, 3.9, 4.1, 4.2, 3.0], 8, 12),
        (3, [5.0, 6.0, 7.0, 8.0, 1.0], 2, 8),
        (2, [5.0, math.nan, math.inf, 1.0], 2, 6),  # what is no number is no better
        (3, [5.0, 4.0, 4.5, 4.6], 4, 10),
        (4, [5.0 - n for n in range(15)], 30, 30),
        (2, [5.0 - n for n in range(13)] + [9.0], 26, 30),  # with its last step
        (None, [5.0, 6.0], 2, 30),
    ],
)
def test_a_run_ends_when_so_many_scores_in_a_row_are_no_better(data, tmp_path, patience, scores, best, end):
    recipe = params(patience=patience)
    objective = scored(data, recipe, scores)
    result = run(objective, recipe, tmp_path)
    progress = result.progress
    assert (progress.step, progress.best_step) == (objective.taken, progress.best_row()["step"]) == (end, best)
    assert [row["step"] for row in progress.validation] == list(range(2, end + 1, 2))
    assert [row["step"] for row in progress.train] == sorted({*range(5, end + 1, 5), end})  # the row at hand is closed
    assert same(result.best_weights, objective.weights[best])
    assert same(dict(objective.model.state_dict()), objective.weights[end])
    assert newest_state(tmp_path)["progress"]["step"] == end


def test_patience_changes_no_bit_of_what_comes_before_the_end(data, tmp_path):
    patient, endless = params(patience=3), params()
    scores = [5.0, 4.0, 4.5, 4.6, 4.7, 1.0]
    ended = run(scored(data, patient, scores), patient, tmp_path / "patient").progress
    whole = run(scored(data, endless, scores), endless, tmp_path / "endless").progress
    assert ended.step == 10
    assert ended.validation == whole.validation[:5]
    assert ended.train == whole.train[:2]


@pytest.mark.parametrize("loaders", [0, 2])
def test_an_interrupted_run_ends_where_an_uninterrupted_one_does(data, tmp_path, loaders):
    recipe = params(patience=2)
    scores = [5.0, 4.0, 4.5, 3.9, 4.1, 4.2, 3.0]
    build = lambda stop: scored(data, recipe, scores, stop)  # noqa: E731
    run_in_parts(build, recipe, tmp_path / "parts", 3, 9, 11)
    objective = Objective(data, recipe)
    rows = {step + 2: score for step, score in zip(range(0, 30, 2), scores + [3.0] * 8, strict=True)}
    steps = iter(sorted(rows))
    objective.evaluate = lambda: {
        "mlm_loss": (loss := rows[next(steps)]), "mlm_accuracy": 0.5, "nsp_loss": 0.0, "nsp_accuracy": 0.5, "loss": loss
    }  # fmt: skip
    run(objective, recipe, tmp_path / "whole", loaders=loaders)
    assert newest_state(tmp_path / "whole")["progress"]["step"] == 12
    assert same(newest_state(tmp_path / "whole"), newest_state(tmp_path / "parts"))


def test_an_interrupt_in_the_step_that_ends_a_run_loses_nothing(data, tmp_path):
    recipe = params(patience=2)
    scores, said = [5.0, 6.0, 7.0, 1.0], []
    with pytest.raises(UserError, match="interrupted after step 6 of 30"):
        run(scored(data, recipe, scores, interrupt_at=6), recipe, tmp_path)
    objective = scored(data, recipe, scores)
    objective.microbatches = None  # nothing is left to do
    progress = run(objective, recipe, tmp_path, said).progress
    assert (progress.step, progress.best_step) == (6, 2)
    assert [row["step"] for row in progress.train] == [5, 6]
    assert any("resuming after step 6" in line for line in said)


def test_a_run_without_any_number_ends_too(data, tmp_path):
    recipe = params(patience=3)
    progress = run(scored(data, recipe, [math.nan]), recipe, tmp_path).progress
    assert (progress.step, progress.best_step) == (6, 0)
    with pytest.raises(UserError, match="no score on the validation set was finite"):
        progress.best_row()


def test_a_score_before_the_best_does_not_count():
    progress = Progress(best_step=6, validation=[{"step": step} for step in (2, 4, 6, 8)])
    assert progress.has_stalled(1)
    assert not progress.has_stalled(2)
    assert not progress.has_stalled(None)


CHANGES = {
    "pretrain.steps": 40, "pretrain.evaluate_every": 2, "pretrain.log_every": 3, "pretrain.checkpoint_every": 5,
    "pretrain.peak_lr": 1e-9, "pretrain.matrix_lr": 1e-9, "pretrain.patience": 2, "pretrain.final_seq_length": 32,
    "pretrain.final_share": 0.5, "pretrain.schedule": "constant",
}  # fmt: skip


@pytest.mark.parametrize("processes", [1, 2])
def test_a_run_says_that_it_ends_and_tells_the_step(data, tmp_path, processes):
    arguments = options(data, tmp_path, CHANGES)
    commands = group(processes, "pretrain", arguments, tmp_path, [(None, faults.worsen)])
    assert outcome(commands) == ([0] * processes, [])
    told = "pretrain: step 6/40  ends here: 2 scores without a better one; the best one is that of step 2\n"
    assert told in commands[0].said
    assert "pretrain: 6 steps in " in commands[0].said
    reports = tmp_path / "out" / "reports"
    metrics = read_json(reports / "metrics.json")
    assert (metrics["steps"], metrics["planned_steps"], metrics["best"]["step"]) == (6, 40, 2)
    assert metrics["last"]["step"] == metrics["steps_before_final_length"] == 6
    assert [read_csv(reports / f"{name}.csv")[-1]["step"] for name in ("train", "validation")] == ["6", "6"]
    # A second run of the same writes the same, without an update.
    first = contents(tmp_path / "out")
    again = Command("pretrain", arguments, tmp_path, [partial(faults.at_update, 7, faults.die)])
    assert outcome([again]) == ([0], [])
    assert "this run is finished: its results are written anew" in again.said
    assert contents(tmp_path / "out") == first


def test_a_run_that_goes_to_its_end_plans_nothing_more(data, tmp_path):
    arguments = options(data, tmp_path, {"pretrain.steps": 4, "pretrain.patience": 4})
    assert outcome([Command("pretrain", arguments, tmp_path)]) == ([0], [])
    assert "planned_steps" not in read_json(tmp_path / "out" / "reports" / "metrics.json")
