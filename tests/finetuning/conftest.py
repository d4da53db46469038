import contextlib
import json
import shutil

import numpy as np
import pytest

from maskline.dataset.write import write_dataset
from maskline.pretraining.run import pretrain
from maskline.tasks.classification.examples import Examples
from tests.conftest import built_once
from tests.tiny import tiny_params, write_data
from tests.training.runs import CPU, pretraining_paths

LABELS = ["negative", "positive"]


def texts(count, seed=0):
    """Return (text, label): w10 to w19 stand in positive texts alone, w20 to w29 in negative ones."""
    draw = np.random.default_rng(seed)
    pairs = []
    for number in range(count):
        label = int(draw.integers(3) > 0)
        numbers = [10 + 10 * (1 - label) + draw.integers(10), *draw.integers(30, 97, number % 14)]
        pairs.append((" ".join(f"w{number}" for number in numbers), LABELS[label]))
    return pairs


def write_texts(root):
    """Write the examples of the task to `root`/task."""
    path = root / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text, "sentiment": label}) + "\n" for text, label in texts(150)))
    files = {"source": "files", "encoding": "utf-8", "files.paths": [str(path)]}
    settings = tiny_params({f"sentiment:dataset.{key}": value for key, value in files.items()}).task("sentiment")
    write_dataset(root / "task", "sentiment", settings.dataset, Examples())


@pytest.fixture(name="pretrained", scope="session")
def _pretrained(tmp_path_factory):
    """Return a folder of data, a task and models pretrained with and without NSP; a test that changes it copies it."""

    def build(root):
        write_data(root)
        write_texts(root)
        with contextlib.chdir(root):  # where `.runs` goes
            pretrain(tiny_params().pretraining(), pretraining_paths(root), CPU)
            pretrain(tiny_params({"pretrain.nsp": False}).pretraining(), pretraining_paths(root, "words"), CPU)

    return built_once(tmp_path_factory, "pretrained", build)


@pytest.fixture(name="mine")
def _mine(pretrained, tmp_path, monkeypatch):
    """Return a copy of the folder, in the current one, where `.runs` and `.timings` go."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(pretrained, tmp_path / "data")
