"""From a corpus and a teacher to a task on the student, each as a command; docs/distillation.md says how."""

import json
import shutil
from pathlib import Path

import pytest

from maskline.core.storage import read_json
from pipeline import distill, embed, fetch, finetune, imported, predict
from tests.conftest import tiny_articles
from tests.project import change

RECIPE = {"max_seq_length": 16, "steps": 8, "global_batch": 8, "warmup_steps": 2, "evaluate_every": 4}


@pytest.fixture(name="call")
def _call(tiny_project, tmp_path, monkeypatch, invoke):
    """Return a function that runs a command in a copy of the tiny project with a corpus; it gives code and output."""
    project = shutil.copytree(tiny_project, tmp_path / "project")
    monkeypatch.chdir(project)
    Path("articles.txt").write_text("\n\n".join(article.text for article in tiny_articles(60)) + "\n")
    corpus = {"source": "files", "min_characters": 10, "near_duplicates": None, "files.paths": ["articles.txt"]}
    teacher = {"teacher": "data/imported/model", **RECIPE}
    change(
        ".",
        {f"corpus.{key}": value for key, value in corpus.items()}
        | {f"distill.{key}": value for key, value in teacher.items()}
        | {"imports": ["encoder"], "imported.source": "directory", "imported.directory": "data/models/pretrained"}
        | {"tasks/sentiment.yaml:finetune.text_epochs": 0},
    )

    return invoke


def test_a_student_is_taught_used_and_fine_tuned(call):
    for stage in (fetch, imported):
        assert call(stage)[0] == 0
    code, output, errors = call(distill)
    assert code == 0, errors
    found = read_json(Path("reports/distillation/metrics.json"))
    assert (
        f"data/distilled/model: on held-out sentences, before: loss {found['before']['loss']:.4f}, "
        f"Spearman {found['before']['spearman']:.4f}; after step {found['best']['step']}: loss "
    ) in output
    code, output, _ = call(predict, "data/distilled/model", "the river", "the river sees")
    assert code == 0
    assert -1 <= json.loads(output.splitlines()[0])["similarity"] <= 1
    assert call(embed, "data/distilled/model", "articles.txt")[0] == 0
    change(".", {"imported.directory": "data/distilled/model", "encoder.model": "data/imported/model"})
    change(".", {"encoder.tokenizer": "data/imported/tokenizer"})
    code, output, errors = call(imported)
    assert code == 0, errors
    code, _, errors = call(finetune, "sentiment")
    assert code == 0, errors
    assert read_json(Path("data/models/sentiment/manifest.json"))["stage"] == "finetune sentiment"


def test_a_teacher_that_is_missing_is_told_in_one_line_and_nothing_is_written(call):
    assert call(fetch)[0] == 0
    code, _, errors = call(distill)
    assert code == 1
    assert errors.count("\n") == 1
    assert (
        "distill.teacher data/imported/model is no model of this pipeline (no manifest.json): run the stage" in errors
    )
    assert not Path("data/distilled").exists()
