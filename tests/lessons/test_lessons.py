"""The lessons run as they stand, on the texts of the preset `toy`."""

import ast
import json
import re
import subprocess
import sys

import pytest

from tests.project import ENVIRONMENT, ROOT

LESSONS = sorted((ROOT / "docs" / "lessons").glob("[0-9]-*.md"))
SECONDS = 300
"""For a cell; on an idle core a whole lesson takes less than 30."""
EXECUTE = f"""
import sys
import jupytext
from nbclient import NotebookClient

notebook = jupytext.read(sys.argv[1])
NotebookClient(notebook, timeout={SECONDS}, resources={{"metadata": {{"path": sys.argv[2]}}}}).execute()
jupytext.write(notebook, sys.stdout, fmt="ipynb")
"""


def read(path):
    jupytext = pytest.importorskip("jupytext")
    return jupytext.read(path)


@pytest.fixture(name="executed", scope="module", params=LESSONS, ids=lambda path: path.stem)
def _executed(request):
    """Return the cells of a lesson with what they gave; it begins in the folder where it lies."""
    source = {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "error::DeprecationWarning:maskline"}
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(request.param), str(request.param.parent)],
        env=ENVIRONMENT | source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)["cells"]


def test_a_lesson_runs_prints_draws_and_says_nothing_on_stderr(executed):
    outputs = [output for cell in executed if cell["cell_type"] == "code" for output in cell["outputs"]]
    printed = ["".join(output["text"]) for output in outputs if output.get("name") == "stdout"]
    assert len(printed) > 6
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
    assert not [output["text"] for output in outputs if output.get("name") == "stderr"]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_repeats_nothing_of_the_library_asserts_and_ends_with_exercises(path):
    notebook = read(path)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    defined = [node for source in code for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    assert not defined
    assert sum("\nassert " in f"\n{source}" for source in code) >= 5
    last = notebook.cells[-1]
    assert last.cell_type == "markdown"
    _, heading, exercises = f"\n{last.source}".rpartition("\n## Exercises\n")
    assert heading
    assert "\n#" not in exercises
    assert len(re.findall(r"^\d\. ", exercises, re.MULTILINE)) >= 5


def test_the_code_of_lessons_keeps_the_rules(tmp_path):
    """Each cell is as `ruff format` leaves it, and `ruff check` finds nothing but what a notebook may do."""
    for path in LESSONS:
        for number, cell in enumerate(cell for cell in read(path).cells if cell.cell_type == "code"):
            (tmp_path / f"{path.stem.replace('-', '_')}_{number:02}.py").write_text(cell.source + "\n")
    options = ["--config", str(ROOT / "pyproject.toml"), str(tmp_path)]
    for command in (["format", "--check", "--diff"], ["check", "--select", "E,W,I,UP,B,RET,SIM", "--ignore", "E402"]):
        done = subprocess.run(["ruff", *command, *options], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_list_of_lessons_has_them_all():
    readme = (ROOT / "docs" / "lessons" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\(([0-9][^)]*\.md)\)", readme) == [path.name for path in LESSONS]
