"""docs/whole-path.md from its first command to its last, on the small run of these tests."""

import json
import re
import shlex
import shutil
import subprocess

import pytest

from tests.project import ENVIRONMENT, ROOT, call

pytest.importorskip("onnxruntime")
pytest.importorskip("fastapi")
pytest.importorskip("faiss")
PAGE = (ROOT / "docs" / "whole-path.md").read_text(encoding="utf-8")
SCRIPTS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for script in SCRIPTS for line in script.splitlines()]


def of_this_model(command):
    """Return a command for a float32 graph: int8 is refused for so small a model, whose graph is most of its bytes."""
    return command.replace(" --int8", "").replace("sentiment-int8", "sentiment-onnx")


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_a_stranger_can_follow_it(reproduced, tmp_path):
    project = tmp_path / "maskline"
    shutil.copytree(reproduced, project, symlinks=True)
    repro, predict, export, index, search, serve, *asked = map(of_this_model, COMMANDS[:-2])
    assert all("pip install" in command for command in COMMANDS[-2:])
    assert "Data and pipelines are up to date" in call(project, repro).stdout
    assert len(call(project, predict).stdout.splitlines()) == 2
    assert "float32 differs from torch by" in call(project, export).stdout
    assert call(project, index).stdout.endswith("in data/index\n")
    assert call(project, search.replace("bridges of iron", "river")).stdout.startswith("1. ")
    with subprocess.Popen(
        [*shlex.split(serve), "--port", "0"], cwd=project, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    ) as server:
        while not (address := re.search(r"http://127\.0\.0\.1:\d+", said := server.stdout.readline())):
            assert said, "the server ended"
        answers = [json.loads(call(project, ask.replace("http://127.0.0.1:8000", address[0])).stdout) for ask in asked]
        server.terminate()
        assert server.stdout.read() == "stopped\n"
    assert server.returncode == 0
    predicted, found, embedded = answers
    assert predicted["predictions"][0]["label"] in {"negative", "positive"}
    assert found["model"] == "sentiment-onnx"
    assert "hits" in found
    assert sum(number**2 for number in embedded["vectors"][0]) == pytest.approx(1, abs=1e-5)
