"""dvc.yaml says what a stage is, what it runs and what it depends on; this holds it to the code."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from maskline.settings.files import read_yaml
from tests.contract.graph import SOURCE, covers, stages, written
from tests.contract.imports import closure, room_of
from tests.project import ROOT, tracked

STAGES = stages()
SHARED = {"seed", "corpus", "tasks", "masking", "model", "compute", "finetune", "imports", "encoder"}
"""Sections of params.yaml that belong to no single stage."""

REPORTS = {"fetch": "corpus", "plot": "figures", "finetune": "tasks", "scratch": "tasks", "score": "tasks"}
"""Stage -> the folder of its reports, where it is named after what is in it."""

every_stage = pytest.mark.parametrize("stage", STAGES, ids=str)
PART = {"dataset": "examples", "finetune": "task", "scratch": "task", "score": "task"}
"""Stage of a task -> the module of the kind's room that it takes (pipeline/kinds.py)."""


def rooms_imported(stage):
    """Return the rooms that running a stage loads code of; the check of all settings shapes nothing."""
    start = [ROOT / "pipeline" / f"{stage.name}.py"]
    if stage.kind:
        start.append(ROOT / "src" / "maskline" / "tasks" / stage.kind / f"{PART[stage.name]}.py")
    loaded = closure(*start, without="maskline.settings")
    return {room for path in loaded if path.is_relative_to(ROOT / "src") and (room := room_of(path))}


@every_stage
def test_the_rooms_that_a_stage_imports_are_the_rooms_in_its_deps(stage):
    assert rooms_imported(stage) == stage.rooms


def test_without_any_one_room_in_dvc_yaml_a_test_fails():
    lines = 0
    for stage in STAGES:
        imported = rooms_imported(stage)
        for room in stage.rooms:
            lines += 1
            assert stage.rooms - {room} != imported
    assert lines > 50


def test_the_parts_of_a_kind_are_those_that_commands_take():
    text = (ROOT / "pipeline" / "kinds.py").read_text()
    assert {f'{part}").{name}' for part, name in (("examples", "Examples()"), ("task", "make_task"))} == set(
        re.findall(r"\{kind\}\.(\w+\"\)\.[\w()]+)", text)
    )


def test_a_folder_of_rooms_holds_nothing_but_a_docstring():
    for name in ("__init__.py", "tasks/__init__.py"):
        tree = ast.parse((ROOT / "src" / "maskline" / name).read_text())
        assert all(isinstance(node, ast.Expr) for node in tree.body)


@every_stage
def test_every_other_dep_is_an_out_of_a_stage_before(stage):
    earlier = set().union(*(other.outs for other in STAGES[: STAGES.index(stage)]))
    unmade = sorted(dep for dep in stage.data if not any(covers(dep, out) or covers(out, dep) for out in earlier))
    assert not unmade, f"{stage}: no stage before it makes {unmade}"
    elsewhere = sorted(room for room in stage.rooms if not (ROOT / SOURCE / room).is_dir())
    assert not elsewhere, f"{stage}: no such room: {elsewhere}"


@every_stage
def test_a_stage_runs_its_own_file_and_says_what_for(stage):
    task = f" {stage.task}" if stage.task else ""
    assert stage.content["cmd"] == f"env PYTHONPATH=src python -m pipeline.{stage.name}{task}"
    assert (ROOT / "pipeline" / f"{stage.name}.py").is_file()
    assert len(stage.content.get("desc", "")) > 20
    assert set(stage.content) <= {"desc", "cmd", "deps", "params", "outs", "metrics", "plots"}


def test_dvc_yaml_fits_on_two_screens():
    text = (ROOT / "dvc.yaml").read_text()
    assert len(text.partition("\nplots:\n")[0].splitlines()) <= 160


def test_sections_are_named_after_stages():
    """Or after a command that is none: what runs only when it is asked for."""
    sections = set(read_yaml(ROOT / "params.yaml")) - SHARED
    names = {stage.name for stage in STAGES} | {"distill", "multitask"}
    assert sections <= names, f"sections without a stage: {sorted(sections - names)}"
    for stage in STAGES:
        assert stage.name not in sections or stage.name in stage.params, f"{stage} does not declare its own section"


def test_reports_lie_in_the_folder_of_their_stage():
    for stage in STAGES:
        folders = {Path(out).parts[1] for out in stage.outs if out.startswith("reports/")}
        assert folders <= {REPORTS.get(stage.name, stage.name)}


def test_every_task_has_a_line_of_stages_of_its_own():
    lines = {name for name, content in written()["stages"].items() if "foreach" in content}
    assert lines == {"dataset", "finetune", "scratch", "score", "imported"}
    loops = {name: content["foreach"] for name, content in written()["stages"].items() if "foreach" in content}
    assert loops.pop("imported") == "${imports}"
    assert set(loops.values()) == {"${tasks}"}


def test_only_the_name_and_kind_of_a_task_reach_dvc_yaml():
    """Both name a file or a folder that a stage depends on: a text of a shell stops there, before anything runs."""
    text = (ROOT / "dvc.yaml").read_text()
    assert set(re.findall(r"\$\{[^}]*\}?", text)) == {
        *("${tasks}", "${key}", "${item}", "${imports}"),
        *("${encoder.model}", "${encoder.tokenizer}"),  # deps alone: another text there is a missing file
    }
    assert not re.search(r"cmd:.*\$\{(?!key\})", text)
    assert not {"vars", "params"} & set(written())
    for stage in STAGES:
        if stage.task:
            assert f"tasks/{stage.kind}" in stage.rooms
            assert any(key.startswith(f"tasks/{stage.task}.yaml:") for key in stage.params)


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
    # What needs an extra says so where it is missing.
    at_use = needed.union(*(found for name, found in extra.items() if name not in {"bench", "dev"}))
    assert used["src"] | used["pipeline"] <= at_use
    assert used["tests"] <= at_use | extra["dev"]
    peers = {"gensim", "mwparserfromhell", "mwxml", "wikiextractor"}  # installed by hand for one benchmark alone
    assert used["benchmarks"] - peers <= at_use | extra["bench"]
    assert needed <= set().union(*used.values()), "declared, but never imported"


def test_constraints_pin_what_is_declared():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert pins["torch"] == "2.13.0"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = sum(project["optional-dependencies"].values(), project["dependencies"])
    assert {distribution(name) for name in wanted} <= {distribution(name) for name in pins}
    assert all(re.fullmatch(r"[\w.]+", version) for version in pins.values()), "a local version installs nowhere else"


def test_a_plot_of_several_files_shows_the_number_that_its_title_names():
    files = [f"reports/pretrain/{split}.csv" for split in ("train", "validation")]
    assert {title: options["y"] for plot in written()["plots"] for title, options in plot.items()} == {
        "Masked tokens (MLM)": dict.fromkeys(files, "mlm_loss"),
        "Next sentence (NSP)": dict.fromkeys(files, "nsp_loss"),
    }
