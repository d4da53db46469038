"""Two agents of torchrun, as on two machines with one folder: the curve of one process, whichever machine is lost."""

import os
import socket
import subprocess
import sys

import pytest
import torch

from maskline.core.storage import read_csv
from maskline.pretraining.run import pretrain
from tests.tiny import random_documents, tiny_params, write_data, write_settings, write_shards
from tests.training.runs import pretraining_paths
from tests.training.test_distributed import ROOT, premask, same_curves

CHANGES = {
    "pretrain.steps": 20,
    "pretrain.log_every": 1,
    "pretrain.evaluate_every": 10,
    "pretrain.checkpoint_every": 4,
    "pretrain.global_batch": 8,
    "pretrain.micro_batch": 2,
}
LOST = """
import os, runpy, signal
from maskline.pretraining.objective import PretrainingObjective

real = PretrainingObjective.microbatches

def losing(objective, step):
    if step == 10 and os.environ["GROUP_RANK"] == "1":
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return real(objective, step)

PretrainingObjective.microbatches = losing
runpy.run_module("pipeline.pretrain", run_name="__main__")
"""
"""What a machine does that loses its power before its eleventh update: its agent and its process end without a word."""


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory):
    root = write_data(tmp_path_factory.mktemp("nodes"))
    write_shards(root / "tokens" / "validation", random_documents(120, seed=1), tokenizer=root / "tokenizer")
    premask(tiny_params().premask, root / "tokens" / "validation", root / "tokenizer", root / "validation")
    write_settings(root, CHANGES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("alone"))
        pretrain(tiny_params(CHANGES).pretraining(), pretraining_paths(root, "alone"), torch.device("cpu"))
    return root


def start_agents(folder, out, cwd, script=None):
    """Run pretrain by two agents that meet at a free port; return what each ended with and said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = ["--params", str(folder / "params.yaml")]
    for name, path in vars(pretraining_paths(folder, out)).items():
        arguments += [f"--{name}", str(path)]
    meeting = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "tiny"]
    command = [sys.executable, "-m", "torch.distributed.run", *meeting, "--nproc-per-node", "1"]
    command += [str(script)] if script else ["-m", "pipeline.pretrain"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYTHONWARNINGS": "ignore"}
    agents = [
        subprocess.Popen(
            [*command, *arguments],
            cwd=cwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [agent.communicate(timeout=120) for agent in agents]
    return [(agent.returncode, *text) for agent, text in zip(agents, said, strict=True)]


def test_two_machines_have_the_curve_of_one_process_though_one_is_lost(folder, tmp_path):
    (tmp_path / "lost.py").write_text(LOST)
    ends = start_agents(folder, "two", tmp_path, tmp_path / "lost.py")
    assert all(code for code, *_ in ends)
    assert not (folder / "two" / "last").exists()
    complaints = "".join(error for *_, error in ends)
    assert "another process of this run has ended" in complaints
    ends = start_agents(folder, "two", tmp_path)
    assert [code for code, *_ in ends] == [0, 0], ends
    assert "resuming after step 8 from" in "".join(out for _, out, _ in ends)
    same_curves(folder / "two", folder / "alone")
    steps = [row["step"] for row in read_csv(folder / "two" / "reports" / "train.csv")]
    assert steps == [str(step) for step in range(1, 21)]
