"""A disk that is full at any moment of a run: one line, nothing lost, and the same bytes once there is room."""

import errno
import os
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from maskline.pretraining.run import pretrain
from maskline.training import states
from pipeline import cli
from tests.project import ROOT, SETTINGS, change, write_texts
from tests.tiny import tiny_params
from tests.training.faults import mount_small_disk
from tests.training.processes import Command
from tests.training.runs import CPU, Objective, contents, newest_state, pretraining_paths, run
from tests.training.test_processes import options

PARAMS = tiny_params(
    {
        "model.layers": 1, "pretrain.steps": 3, "pretrain.warmup_steps": 1, "pretrain.evaluate_every": 3,
        "pretrain.checkpoint_every": 1, "pretrain.log_every": 1,
    }
).pretraining()  # fmt: skip


class Disk:
    """A disk that is full from the `left`-th content, name or synchronization on.

    Attributes:
        used: how many there were.
        appended: those of them that were appended to a file.
    """

    def __init__(self, monkeypatch):
        self.left = self.used = 0
        self.appended = []
        real_write, real_open, real_replace, real_fsync = Path.write_bytes, Path.open, Path.replace, os.fsync

        def write_bytes(path, content):
            full = self._use()
            real_write(path, content[: len(content) // 2] if full else content)
            if full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def open_file(path, mode="r", **options):
            if mode == "ab":
                full = self._use()
                self.appended.append(self.used)
                if full:
                    with real_open(path, mode) as file:
                        file.write(b"1,half a row")
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real_open(path, mode, **options)

        def refuse_or(real):
            def call(*arguments):
                if self._use():
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return real(*arguments)

            return call

        monkeypatch.setattr(Path, "write_bytes", write_bytes)
        monkeypatch.setattr(Path, "open", open_file)
        monkeypatch.setattr(Path, "replace", refuse_or(real_replace))
        monkeypatch.setattr(os, "fsync", refuse_or(real_fsync))

    def _use(self):
        self.used += 1
        return 0 < self.left <= self.used

    def fill_after(self, operations):
        """Leave room for `operations`; 0 for any number."""
        self.left, self.used = operations, 0


def test_wherever_the_disk_fills_up_the_run_ends_with_one_line_and_goes_on(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = shutil.copytree(data, tmp_path / "data")
    disk = Disk(monkeypatch)
    pretrain(PARAMS, pretraining_paths(paths, "whole"), CPU)
    whole, operations = contents(paths / "whole"), disk.used
    assert operations > 60
    for number in range(1, operations + 1, 3):
        shutil.rmtree(tmp_path / ".runs")
        disk.fill_after(number)
        with pytest.raises(OSError, match="No space left") as error:
            pretrain(PARAMS, pretraining_paths(paths, str(number)), CPU)
        line = cli._explain(error.value)
        assert line == f"the disk is full ({error.value.filename}): make room and run the same command again"
        assert Path(error.value.filename).name[0] != "."  # the file itself, not the temporary one
        assert not list(tmp_path.glob(".runs/*/.*"))
        disk.fill_after(0)
        if kept := list(tmp_path.glob(".runs/*/state-*.json")):
            assert newest_state(tmp_path / ".runs")["progress"]["step"] in range(1, 4)
            assert all(states.ResumableRun._is_whole(path.with_suffix(".pt")) for path in kept)
        pretrain(PARAMS, pretraining_paths(paths, str(number)), CPU)
        assert contents(paths / str(number)) == whole, number
        assert len(list(tmp_path.glob(".runs/*/state-*.pt"))) == 1


def curves(root):
    """Return the file and the content of both curves beside the states."""
    return [(path.name, path.read_text()) for path in sorted(root.glob("*/*.csv"))]


def test_a_disk_that_fills_up_within_a_row_of_a_curve_leaves_no_half_of_it(data, tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
    run(Objective(data, PARAMS), PARAMS, tmp_path / "whole")
    whole, appended = curves(tmp_path / "whole"), list(disk.appended)
    assert len(appended) == sum(text.count("\n") - 1 for _, text in whole) == 4
    for number in appended:
        root = tmp_path / str(number)
        disk.fill_after(number)
        with pytest.raises(OSError, match="No space left") as error:
            run(Objective(data, PARAMS), PARAMS, root)
        assert Path(error.value.filename).read_text().endswith("\n1,half a row")
        disk.fill_after(0)
        run(Objective(data, PARAMS), PARAMS, root)
        assert curves(root) == whole


STAGES = [
    "fetch", "tokenizer", "tokenize", "premask", "pretrain", "evaluate",
    "dataset sentiment", "finetune sentiment", "scratch sentiment", "score sentiment", "plot",
]  # fmt: skip


def stage(command, folder, *faults):
    """Return a stage such as `finetune sentiment` as a process in `folder`."""
    name, *arguments = command.split()
    return Command(name, arguments, folder, faults)


@pytest.fixture(name="project", scope="module")
def _project(tmp_path_factory):
    """Return a small project in which every stage has run."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "params.yaml", folder)
    shutil.copytree(ROOT / "tasks", folder / "tasks")
    write_texts(folder)
    change(folder, SETTINGS | {"pretrain.steps": 4, "pretrain.evaluate_every": 2, "pretrain.checkpoint_every": 2})
    for name in STAGES:
        command = stage(name, folder)
        assert command.wait() == 0, command.complaint
    return folder


def may_mount():
    command = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not may_mount(), reason="this user may mount no file system, not even in a namespace of its own")
@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("fetch", "data/corpus"),
        ("dataset sentiment", "data/tasks/sentiment"),
        ("tokenizer", "data/tokenizer"),
        ("tokenize", "data/tokens"),
        ("premask", "data/validation"),
        ("pretrain", ".runs"),
        ("pretrain", "data/models/pretrained"),
        ("pretrain", "reports/pretrain"),
        ("finetune sentiment", "data/models/sentiment"),
        ("finetune sentiment", "reports/tasks/sentiment/finetune"),
        ("scratch sentiment", "data/models/sentiment-scratch"),
        ("scratch sentiment", "reports/tasks/sentiment/scratch"),
        ("score sentiment", "reports/tasks/sentiment"),
        ("evaluate", "reports/evaluate"),
        ("plot", "reports/figures"),
    ],
)
def test_a_disk_that_is_really_full_is_one_line_that_names_the_file(project, tmp_path, name, full):
    folder = shutil.copytree(project, tmp_path / "project", ignore=shutil.ignore_patterns(".runs"))
    (folder / full).mkdir(exist_ok=True)
    mount = partial(mount_small_disk, folder / full)
    command = stage(name, folder, mount)
    assert command.wait() == 1
    found = re.fullmatch(
        r"error: the disk is full \((.*)\): make room and run the same command again\n", command.complaint
    )
    assert found, command.complaint
    assert found[1].startswith(full)
    # What is kept of it is of use, or in nobody's way.
    command = stage(name, folder)
    assert command.wait() == 0, command.complaint
    made, expected = (
        {
            name: digest
            for name, digest in contents(root).items()
            if not name.endswith((".out", ".err")) and not name.startswith(".runs/")
        }
        for root in (folder, project)
    )
    assert made == expected


@pytest.mark.skipif(not may_mount(), reason="this user may mount no file system, not even in a namespace of its own")
def test_a_disk_that_a_curve_fills_is_one_line_that_names_it(data, tmp_path):
    changes = {"pretrain.steps": 60, "pretrain.evaluate_every": 60, "pretrain.checkpoint_every": 60}
    arguments = options(data, tmp_path, changes)
    (tmp_path / ".runs").mkdir()
    mount = partial(mount_small_disk, tmp_path / ".runs", pages=2)  # one for each curve
    command = Command("pretrain", arguments, tmp_path, [mount])
    assert command.wait() == 1
    line = r"error: the disk is full \(\.runs/\w+/train\.csv\): make room and run the same command again\n"
    assert re.fullmatch(line, command.complaint), command.complaint
    assert not (tmp_path / "out").exists()
