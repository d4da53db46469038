"""Every command that computes does so where `compute` says."""

import shutil

import pytest
import torch

from maskline.core.errors import UserError
from pipeline import evaluate, finetune, pretrain, score, scratch
from tests.project import change

COMMANDS = {
    "pretrain": pretrain.main,
    "evaluate": evaluate.main,
    "finetune": lambda: finetune.main("sentiment"),
    "scratch": lambda: scratch.main("sentiment"),
    "score": lambda: score.main("sentiment"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_takes_the_device_and_the_threads_of_compute(tiny_project, tmp_path, monkeypatch, command):
    folder = shutil.copytree(tiny_project, tmp_path / "project")
    change(folder, {"compute.device": "cuda", "compute.threads": 3})
    monkeypatch.chdir(folder)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    with pytest.raises(UserError, match=r"^compute.device is cuda, which this machine does not have: use auto or cpu$"):
        COMMANDS[command]()
    assert threads == [3]
