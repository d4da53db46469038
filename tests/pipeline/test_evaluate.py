import json
import shutil
import sys

import pytest

from maskline.core.errors import UserError
from maskline.vocabulary.save import save
from maskline.vocabulary.wordpiece import train
from pipeline.cli import run
from pipeline.evaluate import main
from tests.tiny import tokenizer_params


def evaluate(project, reports, data=None, params=None):
    data = data or project / "data"
    main(
        params or project / "params.yaml",
        data / "tokens" / "train",
        data / "validation",
        data / "tokenizer",
        data / "models" / "pretrained",
        reports,
    )


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Timings go to the current folder."""
    monkeypatch.chdir(tmp_path)


def strict(path):
    def refuse(constant):
        raise ValueError(constant)

    return json.loads(path.read_text(), parse_constant=refuse)


def test_reports_have_what_is_promised(tiny_project, tmp_path, capsys):
    reports = tmp_path / "reports"
    evaluate(tiny_project, reports)
    metrics = strict(reports / "metrics.json")
    assert list(metrics) == ["mlm", "nsp"]
    assert all(isinstance(value, float) for section in metrics.values() for value in section.values())
    report = strict(reports / "report.json")
    assert [line["metric"] for line in report["headlines"]] == [
        *("mlm.loss", "mlm.accuracy", "mlm.perplexity", "nsp.accuracy")
    ]
    for line in report["headlines"]:
        for key in (line["metric"], *line["against"]):
            section, _, name = key.partition(".")
            assert name in metrics[section]
    assert (reports / "samples.md").read_text().count("\n## ") == 3
    assert sorted(path.name for path in reports.iterdir()) == ["metrics.json", "report.json", "samples.md"]
    assert strict(tmp_path / ".timings" / "evaluate.json")["seconds"] >= 0
    assert capsys.readouterr().out.splitlines()[0].startswith(f"mlm: loss {metrics['mlm']['loss']:.4g}, perplexity")


def test_again_gives_the_same_bytes(tiny_project, tmp_path):
    for run_ in ("first", "second"):
        evaluate(tiny_project, tmp_path / run_)
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes()


def test_without_nsp_its_accuracy_is_null(tiny_project, tmp_path, write_params, capsys):
    write_params(tmp_path / "params.yaml", pretrain={"nsp": False}, evaluate={"samples": 0})
    evaluate(tiny_project, tmp_path, params=tmp_path / "params.yaml")
    nsp = strict(tmp_path / "metrics.json")["nsp"]
    assert nsp["accuracy"] is None
    assert nsp["overlap_accuracy"] > 0
    assert "nsp: accuracy -, accuracy_low -, accuracy_high -, pairs 28, overlap_accuracy" in capsys.readouterr().out


def test_models_of_another_tokenizer_are_refused(tiny_project, tmp_path):
    data = shutil.copytree(tiny_project / "data", tmp_path / "data")
    params = tokenizer_params(vocab_size=200)
    save(train(lambda: ["another text"], params, "en"), data / "tokenizer", params, {})
    with pytest.raises(UserError, match=r"pretrained was made with another tokenizer .* run `dvc repro pretrain`"):
        evaluate(tiny_project, tmp_path / "reports", data)


def test_a_missing_model_is_one_line(tiny_project, tmp_path, monkeypatch, capsys):
    data = shutil.copytree(tiny_project / "data", tmp_path / "data")
    shutil.rmtree(data / "models" / "pretrained")
    shutil.copy(tiny_project / "params.yaml", tmp_path)
    shutil.copytree(tiny_project / "tasks", tmp_path / "tasks")
    monkeypatch.setattr(sys, "argv", ["evaluate"])
    with pytest.raises(SystemExit) as stop:
        run(main)
    assert stop.value.code == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == "error: data/models/pretrained is incomplete (no manifest.json): run `dvc repro pretrain`"
