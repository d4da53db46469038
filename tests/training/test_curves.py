"""The curves beside the states: there while a run trains, and in the end byte for byte those of the reports."""

from functools import partial

import pytest

from maskline.core.storage import read_csv
from tests.tiny import tiny_params
from tests.training import faults
from tests.training.processes import Command, group
from tests.training.runs import Objective, run
from tests.training.test_processes import options, outcome

NAMES = ("train.csv", "validation.csv")
CHANGES = {
    "pretrain.steps": 13,
    "pretrain.log_every": 2,
    "pretrain.evaluate_every": 3,
    "pretrain.checkpoint_every": 5,
    "pretrain.final_seq_length": 32,
    "pretrain.final_share": 0.4,
}


def live(folder):
    """Return the bytes of both curves beside the states."""
    (directory,) = (folder / ".runs").iterdir()
    return [(directory / name).read_bytes() for name in NAMES]


def reported(folder):
    return [(folder / "out" / "reports" / name).read_bytes() for name in NAMES]


def steps(curves):
    """Return the steps of the rows of both curves."""
    return [[int(line.partition(b",")[0]) for line in curve.splitlines()[1:]] for curve in curves]


@pytest.fixture(name="whole", scope="module")
def _whole(data, tmp_path_factory):
    """Return the curves of an undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    assert outcome([Command("pretrain", options(data, folder, CHANGES), folder)]) == ([0], [])
    assert live(folder) == reported(folder)
    assert steps(live(folder)) == [[2, 4, 6, 8, 10, 12, 13], [3, 6, 9, 12, 13]]
    return reported(folder)


def at(number, act):
    return partial(faults.at_update, number, act)


def test_a_run_killed_again_and_again_keeps_its_curves_and_continues_them(data, tmp_path, whole):
    arguments = options(data, tmp_path, CHANGES)
    for within, train, validation in (
        (5, [2, 4], [3]),  # before the first state, so that the next one starts anew
        (4, [2], [3]),
        (10, [2, 4, 6, 8], [3, 6, 9]),
        (7, [2, 4, 6], [3, 6]),  # goes on after step 5: what was measured since is measured again
        (13, [2, 4, 6, 8, 10, 12], [3, 6, 9, 12]),
    ):
        command = Command("pretrain", arguments, tmp_path, [at(within, faults.die)])
        assert outcome([command]) == ([-9], [])
        assert steps(live(tmp_path)) == [train, validation]
        assert all(curve.startswith(part) for curve, part in zip(whole, live(tmp_path), strict=True))
    assert "resuming after step 5 from" in command.said
    command = Command("pretrain", arguments, tmp_path)
    assert outcome([command]) == ([0], [])
    assert "resuming after step 10 from" in command.said
    assert live(tmp_path) == reported(tmp_path) == whole


def test_a_run_that_has_no_state_starts_its_curves_anew(data, tmp_path, whole):
    arguments = options(data, tmp_path, CHANGES)
    assert outcome([Command("pretrain", arguments, tmp_path, [at(1, faults.die)])]) == ([-9], [])
    assert steps(live(tmp_path)) == [[], []]
    (directory,) = (tmp_path / ".runs").iterdir()
    for name in NAMES:
        (directory / name).write_text("step,of\n999,another cod")
    assert outcome([Command("pretrain", arguments, tmp_path)]) == ([0], [])
    assert live(tmp_path) == whole


def test_what_a_run_does_not_measure_is_a_gap_in_its_curves(data, tmp_path):
    params = tiny_params(CHANGES | {"pretrain.nsp": False}).pretraining()
    objective = Objective(data, params)
    found = []
    evaluate = objective.evaluate
    objective.evaluate = lambda: (
        found.extend((next(tmp_path.iterdir()) / name).read_text() for name in NAMES),
        evaluate(),
    )[1]
    run(objective, params, tmp_path)
    rows = [line.split(",") for curve in found for line in curve.splitlines()]
    assert len(rows) > 20
    assert {field for row in rows for field in row} >= {"nan"}
    assert not any("" in row for row in rows)


def test_one_of_two_processes_writes_the_curves(data, tmp_path):
    arguments = options(data, tmp_path, CHANGES)
    assert outcome(group(2, "pretrain", arguments, tmp_path, [(1, at(9, faults.interrupt))]))[0] == [1, 1]
    assert steps(live(tmp_path)) == [[2, 4, 6, 8], [3, 6, 9]]
    assert outcome(group(2, "pretrain", arguments, tmp_path)) == ([0, 0], [])
    assert steps(live(tmp_path)) == [[2, 4, 6, 8, 10, 12, 13], [3, 6, 9, 12, 13]]
    assert live(tmp_path) == reported(tmp_path)


def test_a_row_does_not_wait_for_what_follows_it(data, tmp_path):
    """The training row is there before the score of the same step, and the score before its state is saved."""
    params = tiny_params(CHANGES).pretraining()
    objective, found = Objective(data, params), []
    evaluate, update_ranges = objective.evaluate, objective.update_ranges

    def look():
        (directory,) = tmp_path.iterdir()
        found.append([[int(row["step"]) for row in read_csv(directory / name)] for name in NAMES])

    objective.evaluate = lambda: (look(), evaluate())[1]
    objective.update_ranges = lambda *bounds: (look(), update_ranges(*bounds))[1]
    run(objective, params, tmp_path)
    assert found == [
        [[], []],
        [[2], []],
        [[2, 4, 6], [3]],
        [[2, 4, 6, 8], [3, 6]],
        [[2, 4, 6, 8, 10, 12], [3, 6, 9]],
        [[2, 4, 6, 8, 10, 12, 13], [3, 6, 9, 12]],
    ]


def test_rows_have_the_sequence_length_of_the_last_update_in_them(whole):
    names, *values = (line.rpartition(b",")[2].decode() for line in whole[0].splitlines())
    assert (names, values) == ("max_seq_length", ["24"] * 4 + ["32"] * 3)  # from update 9 on
