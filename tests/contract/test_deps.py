"""dvc.yaml says what a stage is, what it runs and what it depends on; this holds it to the code."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from maskline.settings.files import read_yaml
from tests.contract.graph import stages, written
from tests.contract.imports import closure
from tests.project import ROOT, tracked

STAGES = stages()
SHARED = {"seed", "corpus", "tasks", "masking", "model", "compute"}
"""Sections of params.yaml that belong to no single stage."""

REPORTS = {"fetch": "corpus", "plot": "figures"}
"""Stage -> the folder of its reports, where it is named after what is in it."""

every_stage = pytest.mark.parametrize("stage", STAGES, ids=str)


def covers(dep, path):
    return path == dep or path.startswith(f"{dep}/")


@every_stage
def test_every_file_that_a_stage_imports_is_a_dep(stage):
    loaded = {path.relative_to(ROOT).as_posix() for path in closure(ROOT / "pipeline" / f"{stage.name}.py")}
    missing = sorted(path for path in loaded if not any(covers(dep, path) for dep in stage.deps))
    assert not missing, f"{stage}: add to deps: {missing}"
    stale = sorted(dep for dep in stage.deps if dep.endswith(".py") and dep not in loaded)
    assert not stale, f"{stage}: it does not import {stale}: remove them from deps"


@every_stage
def test_every_other_dep_is_an_out_of_a_stage_before(stage):
    earlier = set().union(*(other.outs for other in STAGES[: STAGES.index(stage)]))
    data = {dep for dep in stage.deps if dep.startswith(("data/", "reports/"))}
    unmade = sorted(dep for dep in data if not any(covers(dep, out) or covers(out, dep) for out in earlier))
    assert not unmade, f"{stage}: no stage before it makes {unmade}"
    elsewhere = sorted(dep for dep in stage.deps - data if not (ROOT / dep).is_file())
    assert not elsewhere, f"{stage}: no such file: {elsewhere}"


@every_stage
def test_a_stage_runs_its_own_file_and_says_what_for(stage):
    item = f" {stage.item}" if stage.item else ""
    assert stage.content["cmd"] == f"env PYTHONPATH=src python -m pipeline.{stage.name}{item}"
    assert (ROOT / "pipeline" / f"{stage.name}.py").is_file()
    assert len(stage.content.get("desc", "")) > 20
    assert set(stage.content) <= {"desc", "cmd", "deps", "params", "outs"}


def test_sections_are_named_after_stages():
    sections = set(read_yaml(ROOT / "params.yaml")) - SHARED
    names = {stage.name for stage in STAGES}
    assert sections <= names, f"sections without a stage: {sorted(sections - names)}"
    for stage in STAGES:
        own = f"{stage.name}.{stage.item}" if stage.item else stage.name
        assert stage.name not in sections or own in stage.params, f"{stage} does not declare its own section"


def test_reports_lie_in_the_folder_of_their_stage():
    for stage in STAGES:
        folders = {Path(out).parts[1] for out in stage.outs if out.startswith("reports/")}
        assert folders <= {REPORTS.get(stage.name, stage.name)}


def test_foreach_lists_the_tasks():
    tasks = list(read_yaml(ROOT / "params.yaml")["tasks"])
    lists = [content["foreach"] for content in written()["stages"].values() if "foreach" in content]
    assert lists
    assert all(items == tasks for items in lists)


def test_no_value_of_params_reaches_a_command():
    text = (ROOT / "dvc.yaml").read_text()
    assert set(re.findall(r"\$\{[^}]*\}?", text)) <= {"${item}"}
    assert not {"vars", "params"} & set(written())


def test_what_dvc_shows_is_made_by_a_stage():
    outs = set().union(*(stage.outs for stage in STAGES))
    content = written()
    shown = list(content.get("metrics", []))
    for plot in content.get("plots", []):
        for name, options in plot.items() if isinstance(plot, dict) else [(plot, None)]:
            files = (options or {}).get("y")
            shown += files if isinstance(files, dict) else [name]
    unmade = sorted(path for path in shown if not any(covers(out, path) or covers(path, out) for out in outs))
    assert not unmade, f"no stage makes {unmade}"


def third_party(path):
    """Return the packages that a file imports, without those of Python and of the project."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names - sys.stdlib_module_names - {"maskline", "pipeline", "tests", "benchmarks"}


def distribution(requirement):
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def test_packages_are_declared_where_they_are_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {distribution(name) for name in project["dependencies"]}
    extra = {
        name: {distribution(requirement) for requirement in requirements}
        for name, requirements in project["optional-dependencies"].items()
    }
    owners = packages_distributions()
    used = {"src": set(), "pipeline": set(), "tests": set(), "benchmarks": set()}
    for path in tracked():
        if path.suffix == ".py":
            used[path.parts[0]] |= {distribution(owners.get(name, [name])[0]) for name in third_party(ROOT / path)}
    assert used["src"] | used["pipeline"] <= needed
    assert used["tests"] <= needed | extra["dev"]
    peers = {"gensim", "mwparserfromhell", "mwxml", "wikiextractor"}  # installed by hand for one benchmark alone
    assert used["benchmarks"] - peers <= needed | extra["bench"]
    assert needed <= set().union(*used.values()), "declared, but never imported"


def test_constraints_pin_what_is_declared():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert pins["torch"] == "2.13.0"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = sum(project["optional-dependencies"].values(), project["dependencies"])
    assert {distribution(name) for name in wanted} <= {distribution(name) for name in pins}
    assert all(re.fullmatch(r"[\w.]+", version) for version in pins.values()), "a local version installs nowhere else"
