"""Several seeds of a pipeline in miniature, in a real DVC project."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from maskline.core.errors import UserError
from maskline.experiments.seeds import Request, Seeds
from maskline.settings.files import read_yaml
from tests.project import ENVIRONMENT, call

pytestmark = pytest.mark.filterwarnings("ignore:_NoneStep.value:DeprecationWarning")  # of a library of DVC's

STAGE = """
import os
import sys
from pathlib import Path

name, *values = sys.argv[1:]
with Path(sys.argv[1] + ".txt").open("w") as file:
    params = Path("params.yaml").read_text()
    if "layers: 9" in params and "seed: 1" in params:
        raise SystemExit("too deep")
    file.write(params if name != "data" else "data")
with Path(os.environ["RAN"]).open("a") as file:
    print(name, file=file)
"""

PIPELINE = f"""
stages:
  data:
    cmd: {sys.executable} stage.py data
    deps: [stage.py]
    params: [corpus]
    outs: [data.txt]
  train:
    cmd: {sys.executable} stage.py train
    deps: [stage.py, data.txt]
    params: [seed, model]
    outs: [train.txt: {{cache: false}}]
  score:
    cmd: {sys.executable} stage.py score
    deps: [train.txt]
    outs: [score.txt: {{cache: false}}]
  plot:
    cmd: {sys.executable} stage.py plot
    deps: [score.txt]
    outs: [plot.txt: {{cache: false}}]
"""
PARAMS = "seed: 5\ncorpus: en\nmodel:\n  layers: 2\ncompute:\n  threads: 1\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A project in a folder of a repository, committed and never run."""
    repository = tmp_path_factory.mktemp("template") / "work"
    folder = repository / "project"
    folder.mkdir(parents=True)
    (folder / "stage.py").write_text(STAGE)
    (folder / "dvc.yaml").write_text(PIPELINE)
    (folder / "params.yaml").write_text(PARAMS)
    (folder / ".gitignore").write_text(".runs/\n/data.txt\n")
    call(repository, "git init -q -b main")
    call(folder, "dvc init -q --subdir && git add -A && git commit -qm start")
    return repository


@pytest.fixture
def project(template, tmp_path, monkeypatch):
    """A copy of it to work in, whose stages write their names to a file."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RAN", str(tmp_path / "ran"))
    folder = shutil.copytree(template, tmp_path / "work") / "project"
    monkeypatch.chdir(folder)
    return folder


def read(folder):
    return {"params.yaml": read_yaml(folder / "params.yaml")}


def seeds(count, *targets, overrides=(), name=None, jobs=1):
    said = []
    outcome = Seeds(Request(count, targets, overrides, name, jobs), read, said.append).run()
    return outcome, said


def stages(project):
    """Return the stages that ran since the last call."""
    path = project.parents[1] / "ran"
    names = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return names


def show(experiment, path):
    return subprocess.run(
        ["git", "show", f"{experiment.commit}:project/{path}"], capture_output=True, text=True, check=True
    ).stdout


def test_stages_that_no_seed_concerns_run_once_and_what_is_done_is_not_run_again(project):
    (project / "params.yaml").write_text(PARAMS.replace("en", "fr"))  # not committed
    (project / "new.txt").write_text("new")
    outcome, said = seeds(2, "train", overrides=["model.layers=3"])
    assert stages(project) == ["data", "train", "train"]
    assert any("runs are without what git does not know: new.txt" in line for line in said)
    assert [experiment.name.partition("-")[0] for experiment in outcome.done.values()] == ["layers=3", "layers=3"]
    for seed, experiment in outcome.done.items():
        text = show(experiment, "params.yaml")
        assert f"seed: {seed}" in text
        assert "corpus: fr" in text
        assert "layers: 3" in text
        assert show(experiment, "train.txt") == text
    assert not (project / ".runs/seeds").exists() or not list((project / ".runs/seeds").iterdir())
    assert call(project, "git status --short").stdout.split() == ["M", "params.yaml", "??", "new.txt"]
    names = {experiment.name for experiment in outcome.done.values()}

    # Further seeds and stages: no more than these run. Another commit keeps what is done.
    call(project, "git commit -qm later --allow-empty")
    outcome, said = seeds(3, "score", overrides=["model.layers=3"])
    assert stages(project) == ["score", "score", "train", "score"]
    assert "score" in show(outcome.done[0], "dvc.lock")
    outcome, said = seeds(3, overrides=["model.layers=3"])
    assert said == ["done before: seeds 0, 1, 2"]
    assert all(experiment.current for experiment in outcome.done.values())

    # Other code is another configuration.
    with (project / "stage.py").open("a") as file:
        file.write("# changed\n")
    outcome, _ = seeds(1, "train", overrides=["model.layers=3"])
    assert stages(project) == ["data", "train"]
    assert outcome.done[0].name not in names


def test_a_copy_that_another_number_of_threads_began_is_begun_anew(project):
    (project / "stage.py").write_text("raise SystemExit(1)")
    for _ in range(2):
        with pytest.raises(UserError, match="a stage that all seeds need has failed"):
            seeds(1)
        (left,) = (project / ".runs" / "seeds").glob("*/data/project/params.yaml")
        assert "threads: 1" in left.read_text()
        left.write_text(left.read_text().replace("threads: 1", "threads: 7"))


def test_where_a_run_is_computed_is_as_it_is_asked_for(project):
    seeds(1, "data")
    outcome, _ = seeds(2, "train", overrides=["++compute.device=cuda:1"])
    assert "device: cuda:1" in show(outcome.done[1], "params.yaml")


def test_a_seed_that_fails_does_not_keep_the_others_from_theirs(project):
    outcome, said = seeds(3, overrides=["model.layers=9"], name="deep", jobs=2)
    assert (outcome.failed, list(outcome.done)) == ([1], [0, 2])
    assert sorted(stages(project)) == ["data", "score", "score", "train", "train"]
    assert "2 runs side by side, compute.threads 1 each" in said
    (log,) = project.glob(".runs/seeds/*/1.log")
    assert "too deep" in log.read_text()
    with pytest.raises(UserError, match=r"there is another experiment deep-seed0: choose another name with -n"):
        seeds(1, name="deep")
    with pytest.raises(UserError, match=r"seed 0 has run with compute.threads 1, and now it would be 3: give -S"):
        seeds(1, overrides=["model.layers=9", "compute.threads=3"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "0 seeds are no seeds: give 1 or more"),
        ({"jobs": 0}, "-j 0: give 1 or more runs side by side"),
        ({"overrides": ["seed=3"]}, "-S seed=3: each run has a seed of its own, from 0 on: leave it out"),
        ({"overrides": ["model.layers=1,2"]}, "-S model.layers=1,2 has several values: one configuration at a time"),
        ({"overrides": ["model.depth=1"]}, "-S model.depth=1: Could not override 'model.depth'"),
        ({"overrides": ["../../x.yaml:a=1"]}, "-S ../../x.yaml:a=1: there is no file ../../x.yaml that git knows"),
        ({"overrides": ["tasks/x.yaml:a=1"]}, "-S tasks/x.yaml:a=1: there is no file tasks/x.yaml that git knows"),
        ({"targets": ["draw"]}, "no stage draw: there are data, train, score"),
        ({"name": "a/b"}, "'a/b' cannot name an experiment"),
    ],
)
def test_what_cannot_be_run_is_one_line(project, arguments, message):
    request = {"count": 1, "targets": [], "overrides": [], "name": None, "jobs": 1} | arguments
    with pytest.raises(UserError) as told:
        Seeds(Request(**request), read, print)
    assert str(told.value).startswith(message)
    assert "\n" not in str(told.value)


def test_without_git_it_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="no DVC project here"):
        Seeds(Request(1, [], [], None, 1), read, print)
    Path(".dvc").mkdir()
    with pytest.raises(UserError, match="not a git repository"):
        Seeds(Request(1, [], [], None, 1), read, print)
