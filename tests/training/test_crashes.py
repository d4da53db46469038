"""A run that is killed at any moment and started again: it goes on or starts anew, says so, and has the same bytes."""

import json
import random
import re
import time
from functools import partial

import pytest

from maskline.core.storage import read_json
from tests.tiny import write_settings
from tests.training.faults import kill_at_file_operation, record_file_operations
from tests.training.processes import Command
from tests.training.runs import contents, pretraining_paths

CHANGES = {
    "model.dropout": 0.1,
    "pretrain.steps": 6,
    "pretrain.evaluate_every": 2,
    "pretrain.checkpoint_every": 1,
    "pretrain.log_every": 1,
}
KILLS = 20


class Pretraining:
    """The same small run, in a folder of its own each time."""

    def __init__(self, data, root):
        self.root = root
        self.options = vars(pretraining_paths(data))
        self.params = root / "params.yaml"
        write_settings(root, CHANGES)

    def start(self, folder, *faults):
        folder.mkdir(exist_ok=True)
        paths = self.options | {name: folder / "out" / name for name in ("best", "last", "reports")}
        options = [text for name, path in paths.items() for text in (f"--{name}", path)]
        return Command("pretrain", ["--params", self.params, *options], folder, faults)


@pytest.fixture(name="pretraining", scope="module")
def _pretraining(data, tmp_path_factory):
    """Return the run, with what an undisturbed one leaves, how long it takes and what it does to files."""
    pretraining = Pretraining(data, tmp_path_factory.mktemp("crashes"))
    whole = pretraining.root / "whole"
    started = time.monotonic()
    command = pretraining.start(whole, partial(record_file_operations, pretraining.root / "operations"))
    assert command.wait() == 0, command.complaint
    pretraining.seconds = time.monotonic() - started
    assert finished_step(whole) == CHANGES["pretrain.steps"]
    pretraining.whole = contents(whole / "out")
    lines = (pretraining.root / "operations").read_text().splitlines()
    pretraining.operations = [json.loads(line) for line in lines]
    return pretraining


def finished_step(folder):
    """Return the step of the only state of a finished run, None where none is finished."""
    states = list(folder.glob(".runs/*/state-*.json"))
    finished = [int(path.stem[6:]) for path in states if "finished" in read_json(path)]
    assert not finished or len(states) == 1
    return finished[0] if finished else None


def moments(pretraining):
    """Return 20 moments: numbers of file operations, half of them of states, and seconds from the start."""
    draw = random.Random(0)
    numbers = range(1, len(pretraining.operations) + 1)
    of_states = [number for number in numbers if "state-" in pretraining.operations[number - 1]]
    assert len(of_states) > 40
    operations = draw.sample(of_states, KILLS // 4) + draw.sample(numbers, KILLS // 4)
    return [*operations, *(draw.uniform(0, pretraining.seconds) for _ in range(KILLS // 2))]


@pytest.mark.parametrize("number", range(KILLS))
def test_a_run_killed_at_any_moment_ends_with_the_same_bytes(pretraining, number):
    moment = moments(pretraining)[number]
    folder = pretraining.root / str(number)
    if isinstance(moment, int):
        command = pretraining.start(folder, partial(kill_at_file_operation, moment))
    else:
        command = pretraining.start(folder)
        time.sleep(moment)
        command.process.kill()
    assert command.wait() in (-9, 0)

    begun = list(folder.glob(".runs/*"))
    steps = [int(path.stem[6:]) for path in folder.glob(".runs/*/state-*.json")]
    finished = finished_step(folder)
    command = pretraining.start(folder)
    assert command.wait() == 0, command.complaint
    told = [line for line in command.said.splitlines() if re.search("resuming|starting|damaged|finished", line)]
    if finished:
        expected = [
            "this run is finished: its results are written anew; to train again, remove "
            + str(begun[0].relative_to(folder))
        ]
    elif steps:
        expected = [f"resuming after step {max(steps)} from {begun[0].relative_to(folder)}/state-{max(steps):08d}.pt"]
    elif begun:
        expected = ["this run was interrupted before it saved a state: starting from the beginning"]
    else:
        expected = []
    assert told == expected
    assert command.complaint == ""
    assert contents(folder / "out") == pretraining.whole
    assert finished_step(folder) == CHANGES["pretrain.steps"]
    assert not [path for path in folder.rglob(".*") if path.is_file()]
