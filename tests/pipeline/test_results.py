import importlib
import json
import subprocess
import sys

import pytest

from pipeline import cli


def test_results_end_with_times_and_the_paths_of_the_figures(tmp_path, write_reports):
    reports = write_reports(tmp_path)
    (reports / "pretrain" / "timing.json").write_text(json.dumps({"seconds": 241.4}))
    timing = {"pretrained_seconds": 60, "scratch_seconds": 59.7}
    (reports / "finetune" / "sentiment" / "timing.json").write_text(json.dumps(timing))
    other = reports / "presets" / "small" / "pretrain"  # of another run
    other.mkdir(parents=True)
    (other / "timing.json").write_text(json.dumps({"seconds": 3}))
    (reports / "figures").mkdir()
    (reports / "figures" / "pretraining.png").touch()
    command = [sys.executable, "-m", "pipeline.results", "--reports", reports]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[-3:] == ["finetune/sentiment: 120 s", "pretrain: 241 s", f"{reports}/figures/pretraining.png"]
    assert not [line for line in lines if line.startswith("presets")]
    assert any("MLM loss (nats)" in line and "4.500" in line and "6.900" in line for line in lines)


@pytest.mark.parametrize("command", ["results", "plot"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([], " has no metrics by name"),
        (None, " has no metrics by name"),
        ({"mlm": 4.3}, " has no metrics by name in mlm"),
        ({"mlm": {"loss": "4.3"}}, ": mlm.loss is '4.3', no number"),
        ({"mlm": {"loss": 4.3, "unigram_loss": [6.9]}}, ": mlm.unigram_loss is [6.9], no number"),
        ({"sentiment": {"accuracy": {"mean": 0.9}}}, ": sentiment.accuracy is {'mean': 0.9}, no number"),
    ],
)
def test_metrics_of_another_shape_are_told_in_one_line(
    tmp_path, monkeypatch, capsys, write_reports, command, content, reason
):
    path = write_reports(tmp_path) / "evaluate" / "metrics.json"
    path.write_text(json.dumps(content))
    said = failure(monkeypatch, capsys, command, tmp_path)
    assert said == f"error: {path}{reason}: run `dvc repro` to write it anew\n"


@pytest.mark.parametrize("content", [[], None, 3, {"seconds": "a minute"}, {"seconds": None}])
def test_times_of_another_shape_are_told_in_one_line(tmp_path, monkeypatch, capsys, write_reports, content):
    path = write_reports(tmp_path) / "pretrain" / "timing.json"
    path.write_text(json.dumps(content))
    said = failure(monkeypatch, capsys, "results", tmp_path)
    assert said == f"error: {path} has no seconds by name: run `dvc repro` to write it anew\n"


@pytest.mark.parametrize("command", ["results", "plot"])
@pytest.mark.parametrize("content", [{}, {"mlm": {}}, {"mlm": {"loss": None}, "nsp": {"accuracy": None}, "x": {}}])
def test_metrics_that_lack_some_are_shown_as_far_as_they_go(tmp_path, monkeypatch, write_reports, command, content):
    (write_reports(tmp_path) / "evaluate" / "metrics.json").write_text(json.dumps(content))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [command])
    with pytest.raises(SystemExit) as end:
        cli.run(importlib.import_module(f"pipeline.{command}").main)
    assert end.value.code == 0


def failure(monkeypatch, capsys, command, folder):
    """Return what a command says on stderr when it fails."""
    monkeypatch.setattr(sys, "argv", [command, "--reports", str(folder / "reports")])
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as end:
        cli.run(importlib.import_module(f"pipeline.{command}").main)
    assert end.value.code == 1
    return capsys.readouterr().err
