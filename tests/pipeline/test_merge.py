"""A model that lora trained, from its stage to a whole one."""

import json
import shutil
from pathlib import Path

import pytest

from maskline.core.storage import fresh_directory
from pipeline import embed, finetune, merge, predict
from tests.project import change

RECIPE = {"method": "lora", "rank": 2, "text_epochs": 0, "method_lr": 0.05}


@pytest.fixture(name="call")
def _call(tiny_project, tmp_path, monkeypatch, invoke):
    """Return a function that runs a command in a copy of the tiny project; it gives exit code, output and errors."""
    shutil.copytree(tiny_project, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    change(".", {f"tasks/sentiment.yaml:finetune.{key}": value for key, value in RECIPE.items()})

    return invoke


def test_it_is_used_beside_the_whole_one_merged_from_it_and_one_on_another_encoder_is_refused(call, tmp_path):
    code, _, errors = call(finetune, "sentiment")
    assert code == 0, errors
    code, output, _ = call(merge, "data/models/sentiment", "merged")
    assert (code, output) == (0, "merged: a whole model\n")
    (fresh_directory(Path("killed")) / "model.safetensors").touch()
    assert call(merge, "data/models/sentiment", "killed")[0] == 0
    assert (Path("killed") / "manifest.json").read_bytes() == (Path("merged") / "manifest.json").read_bytes()
    code, _, errors = call(merge, "data/models/sentiment", "killed")
    assert (code, errors) == (1, "error: killed is there already: name another directory\n")
    card = (Path("merged") / "README.md").read_text()
    assert "here that is merged with the encoder in" in card
    assert "stands on" not in card
    code, _, errors = call(embed, "data/models/sentiment", "presets/toy/articles.txt")
    assert code == 1
    assert "holds what was trained on an encoder, and no whole model: merge lora" in " ".join(errors.split())
    code, output, errors = call(predict, "data/models/sentiment", "--also", "merged", "a good river", "bad")
    assert code == 0, errors
    for line in output.splitlines():
        row = json.loads(line)
        assert list(row) == ["text", "sentiment", "merged"]
        assert row["merged"]["probabilities"] == pytest.approx(row["sentiment"]["probabilities"], abs=1e-5)
    shutil.move("data/models/pretrained", "elsewhere")
    code, output, errors = call(predict, "data/models/sentiment", "a good river")
    assert code == 1
    assert errors.count("\n") == 1
    assert "data/models/pretrained" in errors
    assert call(predict, "data/models/sentiment", "--encoder", "elsewhere", "a good river")[0] == 0
    code, _, errors = call(predict, "data/models/sentiment", "--encoder", "data/models/sentiment-scratch", "a")
    assert code == 1
    assert "was fine-tuned from another model than the one in data/models/sentiment-scratch" in errors
