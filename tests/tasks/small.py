"""One task of any kind on a small scale: its parameters, training it from random weights, and scoring what came out."""

import copy
import shutil

import pytest
import torch

from maskline.core.storage import MANIFEST, fresh_directory, sha256, write_manifest
from maskline.finetuning.run import Paths, finetune
from maskline.finetuning.score import score
from maskline.settings.params import parse
from tests.tiny import set_key, settings

CPU = torch.device("cpu")


def parameters(name, kind, file, changes):
    """Return parameters with one task of the settings `file`, which a key such as `ner:dataset.types` changes."""
    own = f"{name}:"
    content, _ = settings({key: value for key, value in changes.items() if not key.startswith(own)})
    file = copy.deepcopy(file)
    for key, value in changes.items():
        if key.startswith(own):
            set_key(file, key.removeprefix(own), value)
    return parse(content | {"tasks": {name: kind}}, {name: file})


def train(root, name, make_task, params, folder="."):
    """Train the task in `root`/`folder`/task by the tokenizer in `root`; the model and reports lie beside the task."""
    own = root / folder
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(root)  # where `.runs` and `.timings` go
        paths = Paths(own / "task", root / "tokenizer", own / "model", own / "reports")
        finetune(name, make_task, params.finetuning(name), paths, CPU)


def score_as_both(trained, tmp_path, name, make_task, recipe, folder=".", pretrain=None):
    """Score what `train` left as both models, as if it had been fine-tuned from what `pretrain` writes to a directory.

    Without it that is an empty one. Return the folder of reports, and the result.
    """
    root, reports = shutil.copytree(trained, tmp_path / "root"), tmp_path / "reports"
    pretrained, model = root / "pretrained", root / folder / "model"
    if pretrain:
        pretrain(pretrained)
    else:
        write_manifest(fresh_directory(pretrained), {})
    write_manifest(model, {"inputs": {"pretrained": sha256(pretrained / MANIFEST)}})
    result = score(
        name,
        make_task,
        recipe,
        root / folder / "task",
        root / "tokenizer",
        pretrained,
        "pretrain",
        {"pretrained": model, "scratch": model},
        reports,
        reports / "score",
        CPU,
    )
    return reports, result
