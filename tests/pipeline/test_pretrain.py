import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maskline.core import storage
from maskline.training import states
from pipeline import cli
from pipeline.pretrain import main
from tests.tiny import write_data, write_settings
from tests.training.runs import contents, pretraining_paths

ROOT = Path(__file__).parents[2]
CHANGES = {
    "model.dropout": 0.1,
    "pretrain.steps": 150,
    "pretrain.evaluate_every": 50,
    "pretrain.checkpoint_every": 3,
    "pretrain.log_every": 5,
}


@pytest.fixture(name="folder")
def _folder(tmp_path, monkeypatch):
    """Return tiny data and params.yaml in the current folder, where `.runs` goes."""
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path)
    write_settings(tmp_path, CHANGES)
    return tmp_path


def options(folder, out="out"):
    return {"params": folder / "params.yaml", **vars(pretraining_paths(folder, out))}


def start(folder, out="out"):
    command = [sys.executable, "-m", "pipeline.pretrain"]
    command += [argument for name, path in options(folder, out).items() for argument in (f"--{name}", str(path))]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def newest(folder):
    return max((int(path.stem[6:]) for path in folder.glob(".runs/*/state-*.json")), default=0)


def send_when(process, number, happens):
    """Send a signal as soon as something happens; return what the process said and its exit code."""
    deadline = time.monotonic() + 60
    while not happens():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(number)
    said, complaint = process.communicate(timeout=60)
    return said, complaint, process.returncode


def test_a_run_killed_again_and_again_has_the_bytes_of_an_undisturbed_one(folder):
    process = start(folder, "whole")
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 0, complaint
    whole = contents(folder / "whole")
    shutil.rmtree(folder / ".runs")

    said, _, code = send_when(start(folder), signal.SIGKILL, lambda: newest(folder) > 20)
    assert code == -signal.SIGKILL
    assert "resuming" not in said
    # While a state is written.
    reached = newest(folder)
    writing = lambda: newest(folder) > reached + 20 and list(folder.glob(".runs/*/.state-*.tmp"))  # noqa: E731
    said, _, code = send_when(start(folder), signal.SIGKILL, writing)
    assert code == -signal.SIGKILL
    assert int(re.search(r"resuming after step (\d+) from", said)[1]) >= reached
    # Ctrl-C: the step at hand is finished, the state saved, and the way to go on told.
    reached = newest(folder)
    said, complaint, code = send_when(start(folder), signal.SIGINT, lambda: newest(folder) > reached + 20)
    assert code == 1
    found = re.fullmatch(r"error: interrupted after step (\d+) of 150; run the same command to go on\n", complaint)
    assert newest(folder) == int(found[1])
    # While the models are written.
    said, _, code = send_when(start(folder), signal.SIGKILL, (folder / "out" / "last").exists)
    assert f"resuming after step {found[1]} from" in said
    assert newest(folder) == 150

    process = start(folder)
    said, complaint = process.communicate(timeout=60)
    assert process.returncode == 0, complaint
    assert "resuming after step 150 from" in said
    assert contents(folder / "out") == whole
    assert newest(folder) == 150


def test_a_full_disk_is_one_line_and_the_last_state_is_kept(folder, monkeypatch, capsys):
    """The disk fills up while the third state is written; with room again the run goes on from the second."""
    sizes = []

    def write_bytes(path, content):
        sizes.append(len(content))
        with storage.atomic(path) as temporary:
            temporary.write_bytes(content[: len(content) // 2] if len(sizes) == 3 else content)
            if len(sizes) == 3:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    arguments = [argument for name, path in options(folder).items() for argument in (f"--{name}", str(path))]
    monkeypatch.setattr(sys, "argv", ["pretrain", *arguments])
    with monkeypatch.context() as patch:
        patch.setattr(states, "write_bytes", write_bytes)
        with pytest.raises(SystemExit) as stopped:
            cli.run(main)
    assert stopped.value.code == 1
    error = capsys.readouterr().err
    assert re.fullmatch(r"error: the disk is full \(.*\): make room and run the same command again\n", error)
    assert newest(folder) == 6
    assert not list(folder.glob(".runs/*/.*.tmp"))
    main(**options(folder))
    assert "resuming after step 6 from" in capsys.readouterr().out
