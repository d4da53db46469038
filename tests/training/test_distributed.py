"""Two processes under torchrun at the same global batch give what one gives, within rounding."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from maskline.core.storage import read_csv, read_json
from maskline.examples.premasked import premask, read_premasked
from maskline.model.directory import load_pretraining_model
from maskline.pretraining.run import pretrain
from maskline.pretraining.scores import pretraining_sums
from maskline.training.distributed import rank, ranks, sum_gradients, sum_over_ranks
from tests.tiny import SPECIAL, random_documents, tiny_params, write_data, write_settings, write_shards
from tests.training.runs import CPU, Objective, pretraining_paths

ROOT = Path(__file__).parents[2]
CHANGES = {
    "pretrain.steps": 20,
    "pretrain.log_every": 1,
    "pretrain.evaluate_every": 10,
    "pretrain.global_batch": 10,  # cut in five: the first process has three parts, the second two
    "pretrain.micro_batch": 2,
    "model.dropout": 0.1,
}


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory):
    """Return tiny data whose validation set fills several batches, and params.yaml."""
    root = write_data(tmp_path_factory.mktemp("distributed"))
    write_shards(root / "tokens" / "validation", random_documents(120, seed=1), tokenizer=root / "tokenizer")
    premask(tiny_params().premask, root / "tokens" / "validation", root / "tokenizer", root / "validation")
    assert len(read_premasked(root / "validation")) > 130
    objective = Objective(root, tiny_params(CHANGES).pretraining())
    sizes = [len(objective.examples(step)) for step in range(20)]
    assert 2 in sizes  # a single part: the second process has nothing to do in this step
    write_settings(root, CHANGES)
    return root


@pytest.fixture(name="alone", scope="module")
def _alone(folder, tmp_path_factory):
    """Return the rows and the last model of one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("alone"))
        pretrain(tiny_params(CHANGES).pretraining(), pretraining_paths(folder, "alone"), CPU)
    return folder / "alone"


INTERRUPTED = """
import os, runpy, signal
from maskline.pretraining.objective import PretrainingObjective

real = PretrainingObjective.microbatches

def stopping(objective, step):
    if step == 12:
        os.kill(os.getpid(), signal.SIGINT)
    return real(objective, step)

PretrainingObjective.microbatches = stopping
runpy.run_module("pipeline.pretrain", run_name="__main__")
"""
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "pipeline.pretrain"]


def start(python, folder, out, cwd):
    """Run pretrain by `python`, the interpreter's arguments, in `cwd`."""
    command = [sys.executable, *python, "--params", str(folder / "params.yaml")]
    for name, path in vars(pretraining_paths(folder, out)).items():
        command += [f"--{name}", str(path)]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120)


def numbers(row):
    return {key: float(value) for key, value in row.items() if value}


def same_curves(one, other):
    for name in ("train", "validation"):
        rows, expected = (read_csv(folder / "reports" / f"{name}.csv") for folder in (one, other))
        assert len(rows) == len(expected)
        for row, wanted in zip(rows, expected, strict=True):
            assert numbers(row) == pytest.approx(numbers(wanted), rel=1e-5, abs=1e-5, nan_ok=True)
    weights, expected = (load_pretraining_model(folder / "last").state_dict() for folder in (one, other))
    for name, tensor in weights.items():
        torch.testing.assert_close(tensor, expected[name], atol=1e-4, rtol=1e-3)


def test_two_processes_have_the_curve_of_one(folder, alone, tmp_path):
    done = start(TORCHRUN, folder, "two", tmp_path)
    assert done.returncode == 0, done.stderr
    same_curves(folder / "two", alone)
    assert done.stdout.count("20 steps of 10 examples") == 1  # one process speaks, and one writes
    (state,) = tmp_path.glob(".runs/*/state-*.json")
    assert read_json(state)["finished"] is True
    metrics = [read_json(out / "reports" / "metrics.json") for out in (folder / "two", alone)]
    assert metrics[0]["tokens"] == metrics[1]["tokens"]


def test_a_run_of_one_process_goes_on_with_two(folder, alone, tmp_path):
    done = start(["-c", INTERRUPTED], folder, "resumed", tmp_path)
    assert (done.returncode, done.stderr) == (
        1, "error: interrupted after step 13 of 20; run the same command to go on\n"
    )  # fmt: skip
    done = start(TORCHRUN, folder, "resumed", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "resuming after step 13 from" in done.stdout
    same_curves(folder / "resumed", alone)


@pytest.mark.parametrize("processes", [2, 7])
def test_every_example_is_scored_by_one_process(folder, processes):
    objective = Objective(folder, tiny_params(CHANGES).pretraining())
    whole = pretraining_sums(objective.model, objective.validation, SPECIAL, CPU)
    parts = [
        pretraining_sums(objective.model, objective.validation, SPECIAL, CPU, number, processes)
        for number in range(processes)
    ]
    assert whole["masked"] == sum(map(len, objective.validation.masked_labels))
    for name, value in whole.items():
        assert sum(part[name] for part in parts) == pytest.approx(value, rel=1e-9)


def test_alone_nothing_is_summed():
    assert (rank(), ranks()) == (0, 1)
    assert sum_over_ranks(iter([1.5, 2]), CPU) == [1.5, 2]
    layer = torch.nn.Linear(2, 2)
    sum_gradients(layer)
    assert layer.weight.grad is None
