import shutil

import pytest
from maskline.tasks.data import write_task
from maskline.tasks.sources import TaskSource
from ruamel.yaml import YAML

from maskline.core.errors import UserError
from maskline.core.storage import read_json
from maskline.model.directory import load_classifier
from maskline.pretraining.run import pretrain
from maskline.settings.params import load
from pipeline.finetune import main
from tests.tiny import settings, write_data
from tests.training.runs import CPU, pretraining_paths


@pytest.fixture(name="folder")
def _folder(tmp_path, monkeypatch):
    """Return a pretrained model, a task and params.yaml in the places that the stage expects them at."""
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "params.yaml").open("w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump(settings({"pretrain.steps": 4}), file)
    params = load(tmp_path / "params.yaml")
    data = write_data(tmp_path / "data")
    pretrain(params, pretraining_paths(data), CPU)
    shutil.move(data / "out" / "best", data / "models" / "pretrained")
    labels = ("negative", "positive")
    pairs = [(f"w{9 + number % 80} w{7 + number % 2} w{number // 2}", labels[number % 2]) for number in range(99)]
    write_task(data / "tasks" / "sentiment", "sentiment", TaskSource(pairs, {}, "none"), params.tasks["sentiment"])
    return tmp_path


def test_models_and_reports_lie_where_the_next_stage_looks(folder, capsys):
    main("sentiment")
    assert load_classifier(folder / "data" / "models" / "sentiment")[1] == ["negative", "positive"]
    assert load_classifier(folder / "data" / "models" / "sentiment-scratch")[1] == ["negative", "positive"]
    assert {path.name for path in (folder / "reports" / "finetune" / "sentiment").iterdir()} == {
        *(f"{prefix}{name}.csv" for prefix in ("", "scratch-") for name in ("train", "validation")),
        "metrics.json",
        "timing.json",
    }
    metrics = read_json(folder / "reports" / "finetune" / "sentiment" / "metrics.json")
    assert metrics["pretrained"]["steps"] == metrics["scratch"]["steps"]
    assert "finetune sentiment from scratch weights on cpu (1 threads)" in capsys.readouterr().out
    # Nothing changes when it is done again.
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "timing.json"}
    main("sentiment")
    assert {path: path.read_bytes() for path in before} == before


def test_a_task_that_is_none_is_told(folder):
    with pytest.raises(UserError, match=r"^params.yaml has no task sentment: it has sentiment$"):
        main("sentment")
