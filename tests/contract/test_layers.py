"""Who may import whom, what nobody may do, and how soon a command answers."""

import ast
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.imports import imported
from tests.project import ROOT, tracked

FILES = tracked()
CODE = [path for path in FILES if path.suffix == ".py"]
SHARED = {"__init__", "cli", "kinds"}
COMMANDS = sorted(path.stem for path in CODE if path.parent == Path("pipeline") and path.stem not in SHARED)
HEAVY = {"torch", "transformers", "datasets", "matplotlib", "sklearn", "pyarrow", "icu4py", "tokenizers", "pydantic"}

WITH_PARAMS = [
    command
    for command in COMMANDS
    if "ParamsFile" in (ROOT / "pipeline" / f"{command}.py").read_text(encoding="utf-8") and command != "preset"
]

RUN = """
import json, runpy, sys
del sys.argv[0]
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
except SystemExit as stop:
    print(json.dumps({"code": stop.code or 0, "loaded": sorted(name for name in sys.modules if "." not in name)}))
"""


def lint_imports(root):
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(
        command, cwd=root, env=os.environ | {"PYTHONPATH": "src"}, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layers")
    for path in [*CODE, Path("pyproject.toml")]:
        if path.parts[0] != "tests":
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, folder / path)
    return folder


def test_the_contracts_hold(copied):
    done = lint_imports(copied)
    assert done.returncode == 0, done.stdout
    assert " 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("corpus/split.py", "from maskline.training import loop", "each room imports what stands below it"),
        ("training/loop.py", "from maskline.settings.params import load", "each room imports what stands below it"),
        (
            "model/bert/encoder.py",
            "from maskline.tokenization.load import SpecialIds",
            "the model knows the core alone",
        ),
        ("reporting/tables.py", "from maskline.settings.params import load", "reporting knows the core alone"),
        ("evaluation/report.py", "from maskline.reporting.tables import markdown", "no room needs the figures"),
        (
            "tasks/tokens/task.py",
            "from maskline.tasks.classification.model import ClassificationModel",
            "kinds of task do not know each other",
        ),
        ("core/storage.py", "from pipeline.cli import run", "the library knows no command"),
    ],
)
def test_a_broken_contract_is_noticed(copied, file, line, contract):
    path = copied / "src" / "maskline" / file
    text = path.read_text()
    path.write_text(f"{text}\n{line}\n")
    done = lint_imports(copied)
    path.write_text(text)
    assert done.returncode == 1
    assert f"{contract} BROKEN" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_stages_meet_through_files_alone(command):
    modules = {name for name in imported(ROOT / "pipeline" / f"{command}.py") if name.startswith("pipeline.")}
    assert {name.split(".")[1] for name in modules} <= SHARED


def test_nobody_edits_the_search_path():
    edits = [
        path
        for path in CODE
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "path" and ast.unparse(node) == "sys.path"
    ]
    assert not edits


def test_no_shell_and_no_code_from_strangers():
    for path in CODE:
        if path.parts[0] == "tests":
            continue
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword):
                assert node.arg != "shell", path
                assert node.arg != "trust_remote_code" or ast.unparse(node.value) == "False", path
            elif isinstance(node, ast.Attribute):
                assert ast.unparse(node) not in {"os.system", "os.popen", "pickle.load", "pickle.loads"}, path
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load":
                assert "weights_only=True" in ast.unparse(node), path
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".from_pretrained"):
                given = "trust_remote_code" in {keyword.arg for keyword in node.keywords}
                assert given or path.parts[0] == "benchmarks", path  # which loads what it wrote itself


def test_names_say_what_is_in_a_file():
    vague = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert not [path for path in FILES if vague & {Path(part).stem.lower() for part in path.parts}]
    assert not (ROOT / "src" / "__init__.py").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_answers_at_once(command):
    def seconds(*arguments):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONPATH": "src"},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Processor time: what else runs on the machine has no part in it.
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout

    python = min(seconds("-c", "pass")[0] for _ in range(2))
    runs = [seconds("-c", RUN, f"pipeline.{command}", "--help") for _ in range(2)]
    assert min(time for time, _ in runs) - python < 0.5
    *text, last = runs[0][1].splitlines()
    report = json.loads(last)
    assert report["code"] == 0
    assert not HEAVY & set(report["loaded"])
    assert any("--help" in line for line in text)


@pytest.mark.parametrize("command", WITH_PARAMS)
def test_a_mistake_in_the_parameters_is_told_before_torch_is_loaded(command, tmp_path):
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    (tmp_path / "params.yaml").write_text(text + "\nlayers: 4\n", encoding="utf-8")
    shutil.copytree(ROOT / "tasks", tmp_path / "tasks")
    task = ["sentiment"] if command in {"dataset", "finetune", "scratch", "score", "learning_curve"} else []
    done = subprocess.run(
        [sys.executable, "-c", RUN, f"pipeline.{command}", *task, "--params", str(tmp_path / "params.yaml")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},
    )
    report = json.loads(done.stdout.splitlines()[-1])
    assert "layers" in done.stderr
    assert report["code"] == 1
    assert not {"torch", "transformers", "datasets", "sklearn", "matplotlib"} & set(report["loaded"])


def test_reporting_loads_no_torch():
    modules = sorted(
        f"maskline.reporting.{path.stem}" for path in CODE if path.parts[:3] == ("src", "maskline", "reporting")
    )
    script = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script, *modules], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert len(modules) > 3
    assert "torch" not in done.stdout.split()
