"""Several tasks at once, as a command, and what reads its models; docs/several-tasks.md says how."""

import json
import shutil
from pathlib import Path

import pytest

from maskline.core.storage import read_csv, read_json
from pipeline import dataset, finetune, multitask, predict, score, scratch
from tests.project import change


@pytest.fixture(name="call")
def _call(tiny_project, tmp_path, monkeypatch, invoke):
    """Return a function that runs a command in a copy of the tiny project with two tasks; it gives code and output."""
    project = shutil.copytree(tiny_project, tmp_path / "project")
    monkeypatch.chdir(project)
    shutil.copy(project / "tasks" / "sentiment.yaml", project / "tasks" / "reviews.yaml")
    tasks = {"sentiment": "classification", "reviews": "classification"}
    own = {f"tasks/{name}.yaml:finetune.text_epochs": 0 for name in tasks}
    change(".", {"tasks": tasks, "multitask.tasks": ["sentiment", "reviews"], "finetune.min_steps": None, **own})

    return invoke


def test_each_task_stands_beside_its_training_alone_and_other_commands_read_its_model(call):
    assert call(dataset, "reviews")[0] == 0
    assert call(finetune, "sentiment")[0] == 0
    code, output, errors = call(multitask)
    assert code == 0, errors
    rows = read_csv(Path("reports/multitask/scores.csv"))
    assert [(row["task"], row["score"], bool(row["alone"])) for row in rows] == [
        ("sentiment", "accuracy", True),
        ("sentiment", "macro_f1", True),
        ("reviews", "accuracy", False),
        ("reviews", "macro_f1", False),
    ]
    for row in rows:
        apart = f"alone {float(row['alone']):.4f}" if row["alone"] else "no model alone"
        line = f"{row['task']}: {row['score']} {float(row['together']):.4f}, {apart}, of {row['examples']} examples\n"
        assert line in output
    assert "reviews is not compared with its training alone: data/models/reviews is incomplete" in output
    code, output, errors = call(predict, "data/multitask/sentiment", "--also", "data/multitask/reviews", "a good river")
    assert code == 0, errors
    assert list(json.loads(output)) == ["text", "sentiment", "reviews"]
    assert call(scratch, "reviews")[0] == 0
    code, _, errors = call(score, "reviews", "--model", "data/multitask/reviews", "--reports", "reports/scored")
    assert code == 0, errors
    scored = read_json(Path("reports/scored/reviews/metrics.json"))
    assert scored["accuracy"] == pytest.approx(float(rows[2]["together"]), abs=1e-6)


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([], "multitask.tasks is []: name two or more of the tasks that are switched on, sentiment, reviews"),
        (
            ["sentiment"],
            "params.yaml: multitask: tasks has sentiment alone: give two or more, or train it by `finetune`",
        ),
        (["sentiment", "ner"], "multitask.tasks has ner, which is not switched on: `tasks` has sentiment, reviews"),
    ],
)
def test_one_task_and_an_unknown_one_are_told_in_one_line(call, tasks, expected):
    change(".", {"multitask.tasks": tasks})
    code, _, errors = call(multitask)
    assert code == 1
    assert errors.count("\n") == 1
    assert expected in errors
