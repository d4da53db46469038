import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from maskline.core.storage import MANIFEST, read_csv, read_json, write_manifest
from maskline.model.directory import WEIGHTS
from pipeline.score import main


@pytest.fixture(name="folder")
def _folder(tiny_project, tmp_path, monkeypatch):
    """Return a copy of the tiny project, in which commands find everything at the places that they expect it at."""
    folder = shutil.copytree(tiny_project, tmp_path / "project")
    monkeypatch.chdir(folder)
    return folder


def name_always(model, bias):
    """Let a classifier give every text the same logits."""
    weights = load_file(model / WEIGHTS)
    weights["classifier.weight"] = torch.zeros_like(weights["classifier.weight"])
    weights["classifier.bias"] = torch.tensor(bias)
    save_file(weights, model / WEIGHTS, {"format": "pt"})
    write_manifest(model, {"inputs": read_json(model / MANIFEST)["inputs"]})


def test_the_model_of_finetune_has_the_scores_and_that_of_scratch_stands_beside_it(folder):
    models = folder / "data" / "models"
    name_always(models / "sentiment", [1.0, 0.0])
    name_always(models / "sentiment-scratch", [0.0, 1.0])
    main("sentiment")
    reports = folder / "reports" / "tasks" / "sentiment"
    metrics = read_json(reports / "metrics.json")
    test = read_json(folder / "data" / "tasks" / "sentiment" / MANIFEST)["splits"]["test"]
    share = {label: count / test["examples"] for label, count in test["labels"].items()}
    assert share["negative"] < share["positive"]
    assert metrics["accuracy"] == share["negative"]
    assert metrics["scratch_accuracy"] == share["positive"]
    assert {row["predicted"] for row in read_csv(reports / "score" / "predictions.csv")} == {"negative"}


def test_a_further_test_has_a_line_of_its_own(folder, capsys):
    directory = folder / "data" / "tasks" / "sentiment"
    shutil.copy(directory / "test.parquet", directory / "hard.parquet")
    manifest = read_json(directory / MANIFEST)
    splits = manifest["splits"]
    write_manifest(directory, manifest | {"splits": splits | {"hard": splits["test"]}})
    main("sentiment")
    first, second = (line for line in capsys.readouterr().out.splitlines() if "accuracy" in line)
    assert first.startswith("sentiment: loss ")
    assert second == first.replace("sentiment: ", "sentiment, hard: ")
