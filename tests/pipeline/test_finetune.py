"""The line of stages of a task, each as a command."""

import re
import shutil
import sys

import pytest

from maskline.core.errors import UserError
from maskline.core.storage import read_csv, read_json, read_manifest
from maskline.dataset.read import read_dataset
from maskline.model.directory import read_model
from maskline.pretraining.run import pretrain
from maskline.settings.params import load
from pipeline import cli, dataset, finetune, score, scratch
from tests.tiny import write_data, write_settings
from tests.training.runs import CPU, pretraining_paths

TEXTS = [(f"w{9 + number % 80} w{7 + number % 2} w{number // 2}", number % 2) for number in range(99)]

SCORED = ("classes.csv", "confusion.csv", "examples.md", "manifest.json", "predictions.csv", "report.json")


@pytest.fixture(name="folder")
def _folder(tmp_path, monkeypatch):
    """Return a pretrained model, texts and settings in the places that the stages expect them at."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{text},{('negative', 'positive')[label]}" for text, label in TEXTS]
    (tmp_path / "texts.csv").write_text("\n".join(["text,sentiment", *rows, "w9,neutral"]) + "\n")
    write_settings(
        tmp_path,
        {
            "pretrain.steps": 4,
            "sentiment:dataset.source": "files",
            "sentiment:dataset.encoding": "utf-8",
            "sentiment:dataset.files.paths": ["texts.csv"],
        },
    )
    data = write_data(tmp_path / "data")
    pretrain(load(tmp_path / "params.yaml").pretraining(), pretraining_paths(data), CPU)
    shutil.move(data / "out" / "best", data / "models" / "pretrained")
    return tmp_path


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".timings" not in path.parts}


def test_each_stage_leaves_what_the_next_one_looks_for(folder, capsys):
    dataset.main("sentiment")
    said = capsys.readouterr().out
    assert "data/tasks/sentiment: 99 examples of 100 read\n" in said
    assert "  as the source has them: none, all are made by a hash\n" in said
    assert "dropped: 1 other_label 'neutral'\n" in said
    finetune.main("sentiment")
    scratch.main("sentiment")
    said = capsys.readouterr().out
    assert "finetune sentiment: from pretrained weights on cpu (1 threads)" in said
    assert "scratch sentiment: from random weights on cpu (1 threads)" in said
    score.main("sentiment")
    assert "sentiment: loss " in capsys.readouterr().out
    for name in ("sentiment", "sentiment-scratch"):
        assert read_model(folder / "data" / "models" / name, name).config["id2label"] == {
            "0": "negative",
            "1": "positive",
        }
    reports = folder / "reports" / "tasks" / "sentiment"
    assert sorted(path.relative_to(reports).as_posix() for path in reports.rglob("*") if path.is_file()) == [
        *(f"finetune/{name}" for name in ("metrics.json", "train.csv", "validation.csv")),
        "metrics.json",
        *(f"score/{name}" for name in SCORED),
        *(f"scratch/{name}" for name in ("metrics.json", "train.csv", "validation.csv")),
    ]
    assert [*read_csv(reports / "score" / "confusion.csv")[0]] == ["label", "predicted", "count"]
    assert [row["label"] for row in read_csv(reports / "score" / "classes.csv")] == ["negative", "positive"]
    assert (
        read_json(reports / "finetune" / "metrics.json")["steps"]
        == read_json(reports / "scratch" / "metrics.json")["steps"]
    )
    assert sorted(path.stem for path in (folder / ".timings").iterdir()) == [
        *("dataset@sentiment", "finetune@sentiment", "pretrain", "score@sentiment", "scratch@sentiment")
    ]
    # Nothing changes when it is done again, all modules being loaded now, of which a model's manifest has the hash.
    again = []
    for _ in range(2):
        for stage in (dataset, finetune, scratch, score):
            stage.main("sentiment")
        again.append(files(folder))
    assert again[0] == again[1]


def test_the_baseline_needs_no_pretrained_model(folder):
    shutil.rmtree(folder / "data" / "models" / "pretrained")
    dataset.main("sentiment")
    scratch.main("sentiment")
    with pytest.raises(UserError, match=r"pretrained is incomplete .* run `dvc repro pretrain`"):
        finetune.main("sentiment")


@pytest.mark.parametrize("stage", [dataset, finetune, scratch, score])
def test_a_task_that_is_none_is_told(folder, stage):
    with pytest.raises(UserError, match=r"^no task sentment is switched on: `tasks` in params.yaml has sentiment$"):
        stage.main("sentment")


def test_what_an_earlier_stage_lacks_is_one_line(folder, monkeypatch, capsys):
    dataset.main("sentiment")
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["score", "sentiment"])
    with pytest.raises(SystemExit) as stop:
        cli.run(score.main)
    assert stop.value.code == 1
    error = capsys.readouterr().err
    assert error == (
        "error: data/models/sentiment is incomplete (no manifest.json): run `dvc repro finetune@sentiment`\n"
    )


def test_a_source_that_fails_leaves_what_was_fetched_before(folder):
    dataset.main("sentiment")
    before = files(folder / "data" / "tasks")
    (folder / "texts.csv").unlink()
    with pytest.raises(UserError, match=r"tasks/sentiment.yaml: dataset.files.paths: texts.csv matches no file"):
        dataset.main("sentiment")
    assert files(folder / "data" / "tasks") == before


def test_the_baseline_is_the_same_whether_a_pretrained_model_lies_beside_it_or_not(folder):
    dataset.main("sentiment")
    weights = []
    for _ in range(2):
        scratch.main("sentiment")
        weights.append((folder / "data" / "models" / "sentiment-scratch" / "model.safetensors").read_bytes())
        shutil.rmtree(folder / "data" / "models")
        shutil.rmtree(folder / ".runs")
    assert weights[0] == weights[1]


def test_labels_in_no_order_of_letters_keep_their_examples(folder):
    content = (folder / "tasks" / "sentiment.yaml").read_text()
    labels = re.search(r"labels: (?:\[.*?\]|(?:\n *- \w+)+)", content, re.DOTALL)[0]
    (folder / "tasks" / "sentiment.yaml").write_text(content.replace(labels, "labels: [positive, negative]"))
    dataset.main("sentiment")
    data = folder / "data" / "tasks" / "sentiment"
    names = {"0": "positive", "1": "negative"}
    for part in read_dataset(data, "sentiment").splits.values():
        for text, label in zip(part["text"], part["label"], strict=True):
            assert names[str(label)] == ("positive" if text.split()[1] == "w8" else "negative")
    for stage in (finetune, scratch, score):
        stage.main("sentiment")
    for name in ("sentiment", "sentiment-scratch"):
        assert read_model(folder / "data" / "models" / name, name).config["id2label"] == names
    counts = read_manifest(data, "dataset@sentiment")["splits"]["test"]["labels"]
    classes = read_csv(folder / "reports" / "tasks" / "sentiment" / "score" / "classes.csv")
    assert [(row["label"], int(row["support"])) for row in classes] == list(counts.items())
    assert list(counts) == ["positive", "negative"]
