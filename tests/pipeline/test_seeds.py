"""Several seeds of the preset `toy`, killed in the middle and gone on with."""

import re
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest

from maskline.core.storage import read_csv
from tests.project import ENVIRONMENT, call

COMMAND = "-S pretrain.epochs=2 -S pretrain.checkpoint_every=24 pretrain"


@pytest.fixture
def project(reproduced, tmp_path):
    return shutil.copytree(reproduced, tmp_path / "maskline", symlinks=True)


def test_killed_in_the_middle_it_goes_on_and_compare_knows_the_runs(project):
    with subprocess.Popen(
        [sys.executable, "-m", "pipeline.seeds", "2", *COMMAND.split()],
        cwd=project,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as running:
        deadline = time.monotonic() + 120
        while not list(project.glob(".runs/seeds/*/1/.runs/*/state-*.json")):
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.01)
        for process in [*psutil.Process(running.pid).children(recursive=True), psutil.Process(running.pid)]:
            process.kill()
        assert running.wait() == -signal.SIGKILL

    done = call(project, f"python -m pipeline.seeds 2 {COMMAND}").stdout
    assert "done before: seed 0\n" in done
    assert "seed 1: goes on\n" in done
    assert re.findall(r"^Running stage '(.*)'", done, re.MULTILINE) == ["pretrain"]
    assert "resuming after step 24" in done
    assert "| MLM loss (nats) ↓ |" in done
    assert call(project, "git status --short").stdout == ""
    assert not list(project.glob(".runs/seeds/*"))

    compared = call(project, "python -m pipeline.compare").stdout
    (row,) = [row for row in read_csv(project / "reports" / "comparison.csv") if row["n"] == "2"]
    assert row["seed"] == "0 1"
    assert row["experiment"] in compared
    assert f"{row['experiment']}-seed1" in call(project, "dvc exp show --csv").stdout
