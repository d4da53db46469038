"""The comparison as a command: in a real DVC project, and from folders alone."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STAGE = """
import json
import sys
from pathlib import Path
from ruamel.yaml import YAML

params = YAML(typ="safe", pure=True).load(Path("params.yaml"))
if params["model"]["layers"] > 8:
    raise SystemExit("too deep")
loss = 5 - params["model"]["layers"] / 10 + params["seed"] / 100
folder = Path("reports", sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
if sys.argv[1] == "pretrain":
    (folder / "validation.csv").write_text(f"step,mlm_loss\\n10,6\\n20,{loss}\\n")
else:
    line = {"metric": "mlm.loss", "name": "MLM loss", "better": "lower", "against": {"mlm.unigram": "unigram"}}
    report = {"title": "", "headlines": [line], "figures": [], "curves": []}
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "metrics.json").write_text(json.dumps({"mlm": {"loss": loss, "unigram": 7}}))
"""

PIPELINE = f"""
stages:
  pretrain:
    cmd: {sys.executable} stage.py pretrain
    deps: [stage.py]
    params: [seed, model]
    outs:
      - reports/pretrain/validation.csv: {{cache: false}}
  evaluate:
    cmd: {sys.executable} stage.py evaluate
    deps: [reports/pretrain/validation.csv]
    outs:
      - reports/evaluate/metrics.json: {{cache: false}}
      - reports/evaluate/report.json: {{cache: false}}
"""

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",  # the code of this checkout, whatever is installed
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


def make(repository, below="."):
    """Return a folder of a new git repository with a committed reference run."""
    folder = repository / below
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stage.py").write_text(STAGE)
    (folder / "dvc.yaml").write_text(PIPELINE)
    (folder / "params.yaml").write_text("seed: 0\ntasks: {}\nmodel:\n  layers: 2\n")
    call(repository, "git", "init", "-q", "-b", "main")
    dvc(folder, "init", "-q", *(["--subdir"] if below != "." else []))
    dvc(folder, "repro", "-q")
    call(folder, "git", "add", "-A")
    call(folder, "git", "commit", "-qm", "reference")
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A committed reference and three experiments: one deeper, one with another seed, one that fails."""
    folder = make(tmp_path_factory.mktemp("project"))
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
    assert workspace["state"] == "not trained"
    assert "deep" in (project / "reports" / "comparison.svg").read_text()
    assert done.stdout.startswith("# Comparison\n")


def test_the_modules_are_those_of_this_checkout(project):
    done = call(project, sys.executable, "-c", "import maskline, pipeline; print(maskline.__file__, pipeline.__file__)")
    assert all(Path(path).is_relative_to(ROOT) for path in done.stdout.split())


def test_what_was_not_run_is_not_credited_with_the_numbers_of_the_reference(project, tmp_path):
    copy = shutil.copytree(project, tmp_path / "copy", symlinks=True)
    call(copy, "git", "restore", ".")
    (copy / "params.yaml").write_text("seed: 7\ntasks: {}\nmodel:\n  layers: 2\n")
    compare(copy)
    (row,) = [row for row in rows(copy / "reports" / "comparison.csv") if row["experiment"] == "workspace"]
    assert (row["seed"], row["state"], row["mlm.loss"]) == ("7", "not trained", "")


def test_a_project_in_a_folder_of_a_repository(tmp_path):
    folder = make(tmp_path / "repository", "work/project")
    dvc(folder, "exp", "run", "-q", "-n", "deep", "-S", "model.layers=4")
    done = compare(folder)
    assert done.returncode == 0, done.stderr
    found = {row["experiment"]: row["mlm.loss"] for row in rows(folder / "reports" / "comparison.csv")}
    assert found == {"main": "4.8", "deep": "4.6"}


def test_a_revision_that_is_none(project):
    done = compare(project, "--rev", "nope")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "unknown Git revision 'nope'" in done.stderr


def test_experiments_from_other_commits_are_counted_and_any_run_is_the_reference(project, tmp_path):
    copy = shutil.copytree(project, tmp_path / "copy", symlinks=True)
    call(copy, "git", "restore", ".")
    before = call(copy, "git", "rev-parse", "--short=7", "HEAD").stdout.strip()
    assert "other commits" not in compare(copy).stdout
    call(copy, "git", "commit", "-q", "--allow-empty", "-m", "later")
    done = compare(copy)
    assert f"- 2 experiments from other commits: --rev {before} shows them here.\n" in done.stdout
    assert "deep" not in done.stdout
    done = compare(copy, "--rev", before, "--reference", "deep")
    assert "other commits" not in done.stdout
    first, other = rows(copy / "reports" / "comparison.csv")
    assert (first["experiment"], float(other["mlm.loss_difference"])) == ("deep", pytest.approx(4.805 - 4.6))
    assert compare(copy, "--reference", "nope").stderr.startswith("error: no run is named nope: name one of main")


def test_folders_without_git(tmp_path, write_reports):
    for name, layers, losses in (("a", 2, (6.0, 5.0, 4.5)), ("b", 4, (6.0, 5.0, 4.25))):
        write_reports(tmp_path / name, mlm=losses)
        (tmp_path / name / "params.yaml").write_text(
            f"seed: 0\ntasks: {{sentiment: classification}}\nmodel: {{layers: {layers}}}\n"
        )
        (tmp_path / name / "tasks").mkdir()
        (tmp_path / name / "tasks" / "sentiment.yaml").write_text("finetune: {epochs: 2}\n")
    done = compare(tmp_path, "a", "b")
    assert done.returncode == 0, done.stderr
    _, other = rows(tmp_path / "reports" / "comparison.csv")
    assert (other["experiment"], other["model.layers"], other["mlm.loss_difference"]) == ("b", "4", "-0.25")


def test_neither_git_nor_folders_is_one_line(tmp_path):
    done = compare(tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith("name the folders of the runs to compare instead\n")
