"""The scripts in docs/ are whole: what bash would not read, no reader could use."""

import re
import subprocess

import pytest

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
