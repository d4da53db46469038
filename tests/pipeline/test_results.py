import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from maskline.core.storage import TIMINGS, read_json, write_csv, write_timing
from pipeline import cli
from tests.project import ROOT


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch, write_params):
    monkeypatch.chdir(tmp_path)
    write_params(tmp_path / "params.yaml")


def test_results_end_with_times_and_the_paths_of_the_figures(tmp_path, write_reports):
    reports = write_reports(tmp_path)
    write_timing("pretrain", 241.4)
    write_timing("finetune sentiment", 119.7)
    (reports / "figures").mkdir()
    (reports / "figures" / "pretraining.png").touch()
    command = [sys.executable, "-m", "pipeline.results", "--timings", "kept.json"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    lines = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.splitlines()
    assert lines[-3:] == ["finetune@sentiment: 120 s", "pretrain: 241 s", "reports/figures/pretraining.png"]
    assert any("MLM loss (nats)" in line and "4.500" in line and "6.900" in line for line in lines)
    assert any("sentiment accuracy" in line and "0.880" in line for line in lines)
    assert read_json(tmp_path / "kept.json") == {"finetune@sentiment": 119.7, "pretrain": 241.4}


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("width", range(24, 101, 4))
def test_no_number_is_cut_at_any_width(monkeypatch, capsys, write_reports, tmp_path, width, terminal):
    write_reports(tmp_path)
    monkeypatch.setattr(Console, "_environ", os.environ)  # Rich keeps that of its import
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")  # of a dumb one, Rich takes no width
    monkeypatch.setattr(Console, "is_terminal", terminal)
    monkeypatch.setattr(sys, "argv", ["results"])
    with pytest.raises(SystemExit):
        cli.run(importlib.import_module("pipeline.results").main)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)  # the style of a terminal
    assert {"4.500", "6.900", "0.250", "0.060", "0.700", "0.880", "0.860"} <= set(shown.split())
    assert "…" not in shown
    assert re.search(r"0\.500 +sentence lengths$", re.sub(r" +$", "", shown, flags=re.MULTILINE), re.MULTILINE)
    if terminal:
        assert all(len(line.rstrip()) <= width for line in shown.splitlines())
    else:
        assert any(line.split()[-2:] == ["unigram", "frequencies"] for line in shown.splitlines())


def test_the_scores_of_each_class_are_shown(tmp_path, write_reports, monkeypatch, capsys):
    folder = write_reports(tmp_path) / "tasks" / "sentiment" / "score"
    rows = [{"label": "[b]bad\x07", "f1": 2 / 3, "support": 1234}, {"label": "good", "f1": None, "support": 6}]
    write_csv(folder / "classes.csv", rows, ("label", "f1", "support"))
    write_csv(folder / "predictions.csv", [{"id": "0a", "gold": "good"}], ("id", "gold"))
    monkeypatch.setattr(sys, "argv", ["results"])
    with pytest.raises(SystemExit):
        cli.run(importlib.import_module("pipeline.results").main)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    at = lines.index("sentiment: classes (test split)")
    assert lines[at + 2] == "label f1 support"
    assert lines[at + 4 : at + 6] == ["[b]bad� 0.667 1234", "good — 6"]
    assert "sentiment: confusion (test split)" not in lines  # a figure shows it
    assert "sentiment: predictions (test split)" not in lines  # one for each example


def test_a_task_that_is_switched_off_is_not_shown(tmp_path, write_reports, monkeypatch, capsys):
    write_reports(tmp_path, tasks=("sentiment", "mood"))
    monkeypatch.setattr(sys, "argv", ["results"])
    with pytest.raises(SystemExit):
        cli.run(importlib.import_module("pipeline.results").main)
    shown = capsys.readouterr().out
    assert "sentiment accuracy" in shown
    assert "mood" not in shown


@pytest.mark.parametrize("command", ["results", "plot"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([], " has no metrics by name"),
        (None, " has no metrics by name"),
        ({"mlm": "4.3"}, ": mlm is '4.3', no number"),
        ({"mlm": {"loss": "4.3"}}, ": mlm.loss is '4.3', no number"),
        ({"mlm": {"loss": 4.3, "unigram_loss": [6.9]}}, ": mlm.unigram_loss is [6.9], no number"),
    ],
)
def test_metrics_of_another_shape_are_told_in_one_line(
    tmp_path, monkeypatch, capsys, write_reports, command, content, reason
):
    write_reports(tmp_path)
    path = Path("reports/evaluate/metrics.json")
    path.write_text(json.dumps(content))
    said = failure(monkeypatch, capsys, command)
    assert said == f"error: {path}{reason}: run `dvc repro` to write it again\n"


@pytest.mark.parametrize("command", ["results", "plot"])
@pytest.mark.parametrize("content", [[], {}, {"title": "x", "headlines": [{"name": 3}], "figures": [], "curves": []}])
def test_a_report_of_another_shape_is_told_in_one_line(tmp_path, monkeypatch, capsys, write_reports, command, content):
    write_reports(tmp_path)
    path = Path("reports/tasks/sentiment/score/report.json")
    path.write_text(json.dumps(content))
    said = failure(monkeypatch, capsys, command)
    assert said.startswith(f"error: {path} is no report of scores (")
    assert said.endswith("run `dvc repro` to write it again\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize("content", [[], None, 3, {"seconds": "a minute"}, {"seconds": None}])
def test_times_of_another_shape_are_told_in_one_line(tmp_path, monkeypatch, capsys, write_reports, content):
    write_reports(tmp_path)
    path = TIMINGS / "pretrain.json"
    path.parent.mkdir()
    path.write_text(json.dumps(content))
    said = failure(monkeypatch, capsys, "results")
    assert said == f"error: {path} does not say how long the stage took: remove it\n"


@pytest.mark.parametrize("command", ["results", "plot"])
@pytest.mark.parametrize("content", [{}, {"mlm": {}}, {"mlm": {"loss": None}, "nsp": {"accuracy": None}, "x": {}}])
def test_metrics_that_lack_some_are_shown_as_far_as_they_go(tmp_path, monkeypatch, write_reports, command, content):
    (write_reports(tmp_path) / "evaluate" / "metrics.json").write_text(json.dumps(content))
    monkeypatch.setattr(sys, "argv", [command])
    with pytest.raises(SystemExit) as end:
        cli.run(importlib.import_module(f"pipeline.{command}").main)
    assert end.value.code == 0


def failure(monkeypatch, capsys, command):
    """Return what a command says on stderr when it fails."""
    monkeypatch.setattr(sys, "argv", [command])
    with pytest.raises(SystemExit) as end:
        cli.run(importlib.import_module(f"pipeline.{command}").main)
    assert end.value.code == 1
    return capsys.readouterr().err


def test_the_times_are_those_of_tasks_that_are_switched_on(tmp_path, write_reports, monkeypatch, capsys):
    write_reports(tmp_path)
    for stage in ("pretrain", "score sentiment", "score mood"):
        write_timing(stage, 7.0)
    monkeypatch.setattr(sys, "argv", ["results", "--timings", "kept.json"])
    with pytest.raises(SystemExit):
        cli.run(importlib.import_module("pipeline.results").main)
    assert "score@mood" not in capsys.readouterr().out
    assert read_json(tmp_path / "kept.json") == {"pretrain": 7.0, "score@sentiment": 7.0}
