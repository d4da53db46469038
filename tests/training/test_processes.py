"""What becomes of a run of several processes when it, or one of them, ends before its time."""

import time
from functools import partial

import pytest
import torch

from maskline.core.storage import read_csv
from tests.tiny import tiny_params, write_settings
from tests.training import faults
from tests.training.processes import Command, group
from tests.training.runs import Objective, contents, newest_state, pretraining_paths

CHANGES = {
    "model.dropout": 0.1,
    "pretrain.steps": 10,
    "pretrain.evaluate_every": 5,
    "pretrain.checkpoint_every": 2,
    "pretrain.log_every": 1,
    "pretrain.global_batch": 5,
    "pretrain.micro_batch": 2,
}


def options(data, folder, changes=None):
    """Return the arguments of a small run in `folder`, which is made."""
    folder.mkdir(exist_ok=True)
    write_settings(folder, CHANGES | (changes or {}))
    out = {name: folder / "out" / name for name in ("best", "last", "reports")}
    paths = {"params": folder / "params.yaml", **vars(pretraining_paths(data)), **out}
    return [text for name, path in paths.items() for text in (f"--{name}", path)]


def outcome(commands):
    """Wait for all; return their exit codes and the lines that they complained in, together."""
    codes = [command.wait() for command in commands]
    return codes, [line for command in commands for line in command.complaint.splitlines()]


@pytest.fixture(name="whole", scope="module")
def _whole(data, tmp_path_factory):
    """Return what an undisturbed run of two processes leaves."""
    folder = tmp_path_factory.mktemp("whole")
    assert outcome(group(2, "pretrain", options(data, folder), folder)) == ([0, 0], [])
    return contents(folder / "out")


def test_an_interrupted_run_of_two_equals_an_uninterrupted_one_bit_for_bit(data, tmp_path, whole):
    arguments = options(data, tmp_path / "parts")
    stop = [(1, partial(faults.at_update, 5, faults.interrupt))]  # one alone gets the signal
    told = ["error: interrupted after step 5 of 10; run the same command to go on"]
    assert outcome(group(2, "pretrain", arguments, tmp_path / "parts", stop)) == ([1, 1], told)
    assert newest_state(tmp_path / "parts" / ".runs")["progress"]["step"] == 5
    commands = group(2, "pretrain", arguments, tmp_path / "parts")
    assert outcome(commands) == ([0, 0], [])
    assert "resuming after step 5 from" in commands[0].said
    assert commands[1].said == ""
    assert contents(tmp_path / "parts" / "out") == whole


def test_processes_change_to_longer_sequences_together(data, tmp_path):
    changes = {"pretrain.final_seq_length": 32, "pretrain.final_share": 0.5}
    for name, processes in (("alone", 1), ("two", 2)):
        arguments = options(data, tmp_path / name, changes)
        assert outcome(group(processes, "pretrain", arguments, tmp_path / name)) == ([0] * processes, [])
    for row, expected in zip(curves(tmp_path / "two"), curves(tmp_path / "alone"), strict=True):
        assert row == pytest.approx(expected, rel=1e-5, abs=1e-5, nan_ok=True)
    arguments = options(data, tmp_path / "parts", changes)
    stop = [(1, partial(faults.at_update, 5, faults.interrupt))]  # the last one of the shorter
    assert outcome(group(2, "pretrain", arguments, tmp_path / "parts", stop))[0] == [1, 1]
    assert outcome(group(2, "pretrain", arguments, tmp_path / "parts")) == ([0, 0], [])
    assert contents(tmp_path / "parts" / "out") == contents(tmp_path / "two" / "out")


def at(number, act):
    return partial(faults.at_update, number, act)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("act", "line"),
    [
        (faults.give_up, r"error: a shard is gone: bring it back"),
        (faults.run_out_of_memory, r"error: out of memory (4611686018427387904 bytes more): lower micro_batch, which"),
        (faults.spoil_gradient, r"error: step 4 is not finite (mlm_loss "),
        (faults.die, r"error: another process of this run has ended ("),
    ],
)
def test_what_befalls_one_process_ends_all_with_one_line(data, tmp_path, whole, rank, act, line):
    arguments = options(data, tmp_path / "run")
    commands = group(2, "pretrain", arguments, tmp_path / "run", [(rank, at(4, act))])
    codes, lines = outcome(commands)
    assert sorted(codes) == ([-9, 1] if act is faults.die else [1, 1])
    assert len(lines) == 1
    assert lines[0].startswith(line)
    state = newest_state(tmp_path / "run" / ".runs")
    assert state["progress"]["step"] == 2
    assert not (tmp_path / "run" / "out").exists()
    # Nothing is lost: with the fault gone it ends as if there had been none.
    assert outcome(group(2, "pretrain", arguments, tmp_path / "run")) == ([0, 0], [])
    assert contents(tmp_path / "run" / "out") == whole


def test_a_mistake_that_all_make_is_told_once(data, tmp_path):
    arguments = options(data, tmp_path / "run", {"pretrain.global_batch": 5000})
    codes, lines = outcome(group(3, "pretrain", arguments, tmp_path / "run"))
    assert codes == [1, 1, 1]
    assert [line.partition(",")[0] for line in lines] == ["error: the train split gives 112 examples"]


def test_a_second_run_of_several_processes_is_refused_in_one_line(data, tmp_path):
    arguments = options(data, tmp_path / "run")
    first = Command("pretrain", arguments, tmp_path / "run", [partial(faults.at_update, 4, faults.wait_for_ever)])
    try:
        deadline = time.monotonic() + 60
        while not list((tmp_path / "run" / ".runs").glob("*/state-00000002.json")):
            assert first.process.is_alive()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        codes, lines = outcome(group(2, "pretrain", arguments, tmp_path / "run"))
    finally:
        first.process.kill()
        first.wait()
    assert codes == [1, 1]
    assert len(lines) == 1
    assert lines[0].startswith("error: another process is at this very run")


def curves(folder):
    """Return the numbers of both curves."""
    rows = [row for name in ("train", "validation") for row in read_csv(folder / "out" / "reports" / f"{name}.csv")]
    return [[float(value) for value in row.values() if value] for row in rows]


@pytest.fixture(name="alone", scope="module")
def _alone(data, tmp_path_factory):
    """Return the curves of a run of one process."""
    folder = tmp_path_factory.mktemp("alone")
    assert outcome([Command("pretrain", options(data, folder), folder)]) == ([0], [])
    return curves(folder)


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (1, 3)])
def test_a_run_goes_on_with_another_number_of_processes(data, tmp_path, alone, before, after):
    arguments = options(data, tmp_path)
    codes, lines = outcome(group(before, "pretrain", arguments, tmp_path, [(None, at(5, faults.interrupt))]))
    assert (codes, len(lines)) == ([1] * before, 1)
    commands = group(after, "pretrain", arguments, tmp_path)
    assert outcome(commands) == ([0] * after, [])
    assert "resuming after step 5 from" in commands[0].said
    for row, expected in zip(curves(tmp_path), alone, strict=True):
        assert row == pytest.approx(expected, rel=1e-5, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_without_examples_wait_for_the_others(data, tmp_path, processes, alone):
    """Five examples are three parts of two: of four processes, the last has nothing to do in any step."""
    assert outcome(group(processes, "pretrain", options(data, tmp_path), tmp_path)) == ([0] * processes, [])
    for row, expected in zip(curves(tmp_path), alone, strict=True):
        assert row == pytest.approx(expected, rel=1e-5, abs=1e-5, nan_ok=True)


def test_a_process_with_nothing_to_predict_works_on_the_pairs(data, tmp_path):
    assert outcome(group(2, "pretrain", options(data, tmp_path), tmp_path, [(1, faults.unmask)])) == ([0, 0], [])


@pytest.mark.parametrize("processes", [1, 2])
def test_what_has_no_gradient_on_any_process_stays_as_it_is(data, tmp_path, processes):
    """Without sentence pairs nothing trains their head and the pooler, and nothing may decay them."""
    changes = {"pretrain.nsp": False, "pretrain.weight_decay": 0.5}
    arguments = options(data, tmp_path, changes)
    outcome(group(processes, "pretrain", arguments, tmp_path, [(None, at(6, faults.interrupt))]))
    weights = newest_state(tmp_path / ".runs")["weights"]
    initial = Objective(data, tiny_params(CHANGES | changes).pretraining()).model.state_dict()
    untrained = [name for name in weights if name.startswith(("encoder.pooler.", "nsp."))]
    assert len(untrained) == 4
    for name, tensor in weights.items():
        assert torch.equal(tensor, initial[name]) == (name in untrained), name
