"""The scripts in docs/ are whole: what bash would not read, no reader could use."""

import re
import shlex
import shutil
import subprocess
from itertools import pairwise

import pytest

from maskline.settings.params import load
from maskline.settings.presets import flags
from tests.project import ROOT

SCRIPTS = [
    (path.name, script)
    for path in sorted((ROOT / "docs").glob("*.md"))
    for script in re.findall(r"^```sh\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize(("page", "script"), SCRIPTS, ids=[f"{page}-{i}" for i, (page, _) in enumerate(SCRIPTS)])
def test_bash_reads_every_script(page, script):
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), page
    for module in re.findall(r"-m pipeline\.(\w+)", script):
        assert (ROOT / "pipeline" / f"{module}.py").is_file(), module


def test_pages_link_to_what_is_there():
    for path in (ROOT / "docs").glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


STARTED = [
    (page, line)
    for page, script in SCRIPTS
    if page in {"several-tasks.md", "distillation.md"}
    for line in re.sub(r"\\\n *", "", script).splitlines()
    if line.startswith("dvc exp run")
]


@pytest.mark.parametrize(("page", "command"), STARTED)
def test_what_is_to_be_run_before_a_command_names_parameters_and_stages(page, command, tmp_path):
    from dvc.utils.cli_parse import to_path_overrides
    from dvc.utils.hydra import apply_overrides

    (preset,) = re.findall(r"\$\(python -m pipeline\.preset (\w+)\)", command)
    words = shlex.split(re.sub(r"\$\(.*?\)", "", command))[3:]
    given = [value for flag, value in pairwise(words) if flag == "-S"]
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "tasks", tmp_path / "tasks")
    overrides = flags(ROOT / "presets" / f"{preset}.yaml", reference=ROOT / "params.yaml")[1::2]
    for name, changes in to_path_overrides([*overrides, *given]).items():
        apply_overrides(tmp_path / name, changes)
    settings = load(tmp_path / "params.yaml")
    known = {"pretrain", "evaluate", *(f"imported@{name}" for name in settings.imports)}
    known |= {f"{stage}@{task}" for stage in ("dataset", "finetune", "score") for task in settings.tasks}
    stages = [word for word in words if word not in given and word != "-S"]
    assert stages
    assert set(stages) <= known
