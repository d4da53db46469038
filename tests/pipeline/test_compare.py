"""The comparison as a command: in a real DVC project, and from folders alone."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STAGE = """
import json
from pathlib import Path
from ruamel.yaml import YAML

params = YAML(typ="safe", pure=True).load(Path("params.yaml"))
if params["model"]["layers"] > 8:
    raise SystemExit("too deep")
loss = 5 - params["model"]["layers"] / 10 + params["seed"] / 100
for folder in ("evaluate", "pretrain"):
    Path("reports", folder).mkdir(parents=True, exist_ok=True)
Path("reports/evaluate/metrics.json").write_text(json.dumps({"mlm": {"loss": loss, "accuracy": 0.2}}))
Path("reports/pretrain/validation.csv").write_text(f"step,mlm_loss\\n10,6\\n20,{loss}\\n")
"""

PIPELINE = f"""
stages:
  train:
    cmd: {sys.executable} stage.py
    deps: [stage.py]
    params: [seed, model]
    outs:
      - reports/evaluate/metrics.json: {{cache: false}}
      - reports/pretrain/validation.csv
"""

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "DVC_NO_ANALYTICS": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    **{f"GIT_{role}_{what}": "test@test" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def call(folder, *command, check=True):
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=check)


def dvc(folder, *command, check=True):
    return call(folder, sys.executable, "-m", "dvc", *command, check=check)


def compare(folder, *arguments):
    return call(folder, sys.executable, "-m", "pipeline.compare", *arguments, check=False)


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A committed reference and three experiments: one deeper, one with another seed, one that fails."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "stage.py").write_text(STAGE)
    (folder / "dvc.yaml").write_text(PIPELINE)
    (folder / "params.yaml").write_text("seed: 0\nmodel:\n  layers: 2\n")
    call(folder, "git", "init", "-q", "-b", "main")
    dvc(folder, "init", "-q")
    dvc(folder, "repro", "-q")
    call(folder, "git", "add", "-A")
    call(folder, "git", "commit", "-qm", "reference")
    dvc(folder, "exp", "run", "-q", "-n", "deep", "-S", "model.layers=4")
    dvc(folder, "exp", "run", "-q", "-n", "again", "-S", "model.layers=2", "-S", "seed=1")
    assert dvc(folder, "exp", "run", "-q", "-S", "model.layers=9", check=False).returncode
    return folder


def test_experiments_of_dvc_beside_the_committed_reference(project):
    done = compare(project)
    assert done.returncode == 0, done.stderr
    reference, deep, workspace = rows(project / "reports" / "comparison.csv")
    assert (reference["experiment"], reference["seed"], reference["n"]) == ("main, again", "0 1", "2")
    assert float(reference["mlm.loss"]) == pytest.approx(4.805)
    assert (deep["experiment"], deep["model.layers"], deep["state"]) == ("deep", "4", "done")
    assert float(deep["mlm.loss_difference"]) == pytest.approx(4.6 - 4.805)
    assert (workspace["experiment"], workspace["model.layers"], workspace["mlm.loss"]) == ("workspace", "9", "")
    assert workspace["state"] == "no metrics"
    assert "deep" in (project / "reports" / "comparison.svg").read_text()
    assert done.stdout.startswith("# Comparison\n")


def test_a_revision_that_is_none(project):
    done = compare(project, "--rev", "nope")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "unknown Git revision 'nope'" in done.stderr


def test_folders_without_git(tmp_path, write_reports):
    for name, layers, losses in (("a", 2, (6.0, 5.0, 4.5)), ("b", 4, (6.0, 5.0, 4.25))):
        write_reports(tmp_path / name, mlm=losses)
        (tmp_path / name / "params.yaml").write_text(f"seed: 0\nmodel: {{layers: {layers}}}\n")
    done = compare(tmp_path, "a", "b")
    assert done.returncode == 0, done.stderr
    _, other = rows(tmp_path / "reports" / "comparison.csv")
    assert (other["experiment"], other["model.layers"], other["mlm.loss_difference"]) == ("b", "4", "-0.25")


def test_neither_git_nor_folders_is_one_line(tmp_path):
    done = compare(tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith("name the folders of the runs to compare instead\n")
