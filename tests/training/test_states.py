import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from maskline.core import storage
from maskline.core.errors import UserError
from maskline.core.storage import read_json
from maskline.training.states import ResumableRun
from tests.training.runs import CPU

IDENTITY = {"stage": "pretrain", "params": {"seed": 0}}
OTHER = {"stage": "pretrain", "params": {"seed": 1}}


def state(step):
    return {"weights": {"w": torch.full((3,), float(step))}, "progress": {"step": step, "best": float("inf")}}


class Told(list):
    def __call__(self, line):
        self.append(line)


@pytest.fixture(name="told")
def _told():
    return Told()


@pytest.fixture(name="run")
def _run(tmp_path, told):
    with ResumableRun(IDENTITY, told, root=tmp_path) as run:
        yield run


def files(run):
    return sorted(path.name for path in run.directory.iterdir())


def test_the_newest_state_comes_back(run, told):
    assert run.load(CPU) is None
    assert told == []
    for step in (3, 6, 9, 12):
        run.save(step, state(step))
    loaded = run.load(CPU)
    assert loaded["progress"] == {"step": 12, "best": float("inf")}
    assert torch.equal(loaded["weights"]["w"], torch.full((3,), 12.0))
    assert told == [f"resuming after step 12 from {run.directory}/state-00000012.pt"]
    kept = [f"state-{step:08d}.{kind}" for step in (9, 12) for kind in ("json", "pt")]
    assert files(run) == ["identity.json", "lock", *kept]
    assert read_json(run.directory / "identity.json") == IDENTITY


def truncate(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def remove(path):
    path.unlink()


@pytest.mark.parametrize("damage", [truncate, flip, remove])
@pytest.mark.parametrize("kinds", [("pt",), ("json",), ("pt", "json")])
def test_a_damaged_state_is_passed_over_for_the_one_before(run, told, damage, kinds):
    for step in (3, 6):
        run.save(step, state(step))
    for kind in kinds:
        damage(run.directory / f"state-00000006.{kind}")
    assert run.load(CPU)["progress"]["step"] == 3
    resumed = f"resuming after step 3 from {run.directory}/state-00000003.pt"
    if "json" in kinds and damage is remove:  # never finished: the json file is what says that a state is whole
        assert told == [resumed]
    else:
        assert told == [f"{run.directory}/state-00000006.pt is damaged: trying the state before it", resumed]
    run.save(6, state(6))
    assert run.load(CPU)["progress"]["step"] == 6


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", '{"sha256": null}', "\x00"])
def test_whatever_stands_in_place_of_the_hash_is_no_crash(run, content):
    run.save(3, state(3))
    run.save(6, state(6))
    (run.directory / "state-00000006.json").write_text(content)
    assert run.load(CPU)["progress"]["step"] == 3


def test_where_no_state_is_whole_the_run_starts_from_the_beginning_and_says_so(run, told):
    for step in (3, 6):
        run.save(step, state(step))
        truncate(run.directory / f"state-{step:08d}.pt")
    assert run.load(CPU) is None
    assert len(told) == 3
    assert told[-1] == "no state is left: starting from the beginning"


def test_leftovers_of_a_killed_save_are_no_states(run):
    run.save(3, state(3))
    (run.directory / ".state-00000006.pt.999.tmp").write_bytes(b"half a state")
    (run.directory / "state-00000009.pt").write_bytes(b"renamed, but killed before the hash was written")
    assert run.load(CPU)["progress"]["step"] == 3
    assert not list(run.directory.glob(".*.tmp"))
    run.save(9, state(9))
    assert run.load(CPU)["progress"]["step"] == 9


@pytest.mark.parametrize("name", ["state-abc.json", "state-.json", "state-5.json", "state-00000009.json.bak"])
def test_files_that_are_no_states_are_left_alone(run, told, name):
    for directory in (run.directory, run.directory.parent / "other"):
        directory.mkdir(exist_ok=True)
        (directory / name).write_text("{}")
    assert run.load(CPU) is None
    assert told == []
    run.save(3, state(3))
    assert run.load(CPU)["progress"]["step"] == 3
    run.save(6, state(6))
    run.save(9, state(9))
    assert (run.directory / name).exists()


@pytest.mark.parametrize("content", [None, "", "[]", "{}", "7"])
def test_another_run_that_does_not_say_what_it_is_is_told(tmp_path, told, content):
    with ResumableRun(IDENTITY, told, root=tmp_path) as other:
        other.save(3, state(3))
    (other.directory / "identity.json").unlink()
    if content is not None:
        (other.directory / "identity.json").write_text(content)
    with ResumableRun({"stage": "finetune"}, told, root=tmp_path) as run:
        assert run.load(CPU) is None
    assert told == [
        f"starting from the beginning: what is unfinished in {other.directory} has other parameters, inputs or code"
    ]


def test_a_run_that_was_interrupted_before_its_first_state_says_so(tmp_path, told):
    for _ in range(2):
        with ResumableRun(IDENTITY, told, root=tmp_path) as run:
            assert run.load(CPU) is None
    assert told == ["this run was interrupted before it saved a state: starting from the beginning"]


def test_a_kill_while_a_finished_run_makes_room_leaves_a_state_or_none(tmp_path, told, monkeypatch):
    """Stop before each removal: what is left is never a state that looks damaged."""
    real = {name: getattr(os, name) for name in ("unlink", "rmdir")}
    left = 0

    def counted(name):
        def call(*arguments, **options):
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            return real[name](*arguments, **options)

        return call

    for stop in range(20):
        left = stop
        with ResumableRun(IDENTITY, told, root=tmp_path) as run:
            for step in (3, 6):
                run.save(step, state(step))
            run.finish()
        try:
            with monkeypatch.context() as patch, ResumableRun(OTHER, told, root=tmp_path) as other:
                for name in real:
                    patch.setattr(os, name, counted(name))
                other.load(CPU)
            assert not run.directory.exists()
            break
        except KeyboardInterrupt:
            pass
        with ResumableRun(IDENTITY, told, root=tmp_path) as run:
            run.load(CPU)
    assert stop > 4
    assert not any("damaged" in line for line in told)


@pytest.mark.parametrize("when", [1, 2])
def test_a_full_disk_while_saving_keeps_the_states_before(run, monkeypatch, when):
    for step in (3, 6):
        run.save(step, state(step))
    before = files(run)
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == 2 * when - 1:  # the state's content first, then (after its name) the hash's
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(storage.os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            run.save(9, state(9))
    assert set(before) <= set(files(run))
    assert run.load(CPU)["progress"]["step"] == 6
    run.save(9, state(9))
    assert run.load(CPU)["progress"]["step"] == 9


def test_a_kill_within_a_save_never_loses_the_state_before(run, monkeypatch):
    """Stop a save before each change of a name or removal of a file, and look what can be loaded."""
    for step in (3, 6):
        run.save(step, state(step))
    real = {name: getattr(Path, name) for name in ("replace", "unlink")}
    step, loaded = 9, []
    for stop in range(20):
        left = stop

        def counted(name):
            def call(path, *arguments, **options):
                nonlocal left
                if left == 0:
                    raise KeyboardInterrupt
                left -= 1
                return real[name](path, *arguments, **options)

            return call

        with monkeypatch.context() as patch:
            for name in real:
                patch.setattr(Path, name, counted(name))
            try:
                run.save(step, state(step))
                finished = True
            except KeyboardInterrupt:
                finished = False
        loaded.append(run.load(CPU)["progress"]["step"])
        assert loaded[-1] in (step, loaded[-2] if len(loaded) > 1 else 6)
        if finished:
            break
    assert finished
    assert loaded[-1] == step


def test_another_identity_is_another_run(tmp_path, told):
    with ResumableRun(IDENTITY, told, root=tmp_path) as run:
        run.save(3, state(3))
    line = f"starting from the beginning: what is unfinished in {run.directory} has other parameters, inputs or code"
    for change, lines in (({"params": {"seed": 1}}, [line]), ({"stage": "finetune"}, []), ({"more": None}, [line])):
        told.clear()
        with ResumableRun(IDENTITY | change, told, root=tmp_path) as other:
            assert other.directory != run.directory
            assert other.load(CPU) is None
            assert told == lines
    with ResumableRun({"params": {"seed": 0}, "stage": "pretrain"}, told, root=tmp_path) as again:
        assert again.load(CPU)["progress"]["step"] == 3


def finish(identity, tmp_path, told):
    """Return the directory of a run that is finished after step 6."""
    with ResumableRun(identity, told, root=tmp_path) as run:
        for step in (3, 6):
            run.save(step, state(step))
        run.write_curve("train", [{"step": 6}], ["step"])
        run.finish()
    return run.directory


def test_a_run_that_is_finished_keeps_its_last_state_and_its_curves(tmp_path, told):
    directory = finish(IDENTITY, tmp_path, told)
    kept = ["identity.json", "lock", "state-00000006.json", "state-00000006.pt", "train.csv"]
    assert sorted(path.name for path in directory.iterdir()) == kept
    with ResumableRun(IDENTITY, told, root=tmp_path) as again:
        assert again.load(CPU)["progress"]["step"] == 6
        again.finish()
    assert told == [f"this run is finished: its results are written anew; to train again, remove {directory}"]
    assert sorted(path.name for path in directory.iterdir()) == kept


def test_what_is_finished_goes_when_another_run_of_its_stage_begins(tmp_path, told):
    finished = finish(IDENTITY, tmp_path, told)
    with ResumableRun({"stage": "finetune"}, told, root=tmp_path) as run:
        run.load(CPU)
    assert finished.is_dir()  # of another stage
    with ResumableRun(OTHER, told, exclusive=False, root=tmp_path) as run:
        run.load(CPU)
    assert finished.is_dir()  # one process of several removes it
    with ResumableRun(IDENTITY, told, root=tmp_path), ResumableRun(OTHER, told, root=tmp_path) as run:
        run.load(CPU)
        assert finished.is_dir()  # another process writes anew what it made
    with ResumableRun(OTHER, told, root=tmp_path) as run:
        assert finished.is_dir()
        assert run.load(CPU) is None
        assert not finished.exists()
    assert told == ["this run was interrupted before it saved a state: starting from the beginning"]


def test_what_is_unfinished_stays_when_another_run_of_its_stage_begins(tmp_path, told):
    with ResumableRun(IDENTITY, told, root=tmp_path) as unfinished:
        unfinished.save(3, state(3))
    finish(OTHER, tmp_path, told)
    with ResumableRun(IDENTITY | {"more": 1}, told, root=tmp_path) as run:
        run.load(CPU)
    assert [path.name for path in tmp_path.glob("*/state-*.pt")] == ["state-00000003.pt"]
    with ResumableRun(IDENTITY, told, root=tmp_path) as run:
        assert run.load(CPU)["progress"]["step"] == 3


def test_a_finished_run_that_goes_on_is_not_finished(tmp_path, told):
    """Its last state is damaged: what it trains from then on is kept until it has written what it is for."""
    directory = finish(IDENTITY, tmp_path, told)
    truncate(directory / "state-00000006.pt")
    with ResumableRun(IDENTITY, told, root=tmp_path) as run:
        assert run.load(CPU) is None
        run.save(3, state(3))
        run.save(6, state(6))
    with ResumableRun(OTHER, told, root=tmp_path) as run:
        run.load(CPU)
    assert directory.is_dir()


HOLD = """
import sys, pathlib
from maskline.training.states import ResumableRun
with ResumableRun({"stage": "pretrain", "params": {"seed": 0}}, print, root=pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_process_is_refused_while_the_first_is_at_it(tmp_path, told):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=r"another process is at this very run .*: wait for it, or stop it first$"):
            ResumableRun(IDENTITY, told, root=tmp_path).__enter__()
        with ResumableRun(IDENTITY | {"stage": "other"}, told, root=tmp_path):
            pass
        first.kill()
    with ResumableRun(IDENTITY, told, root=tmp_path) as run:  # a killed process holds nothing
        assert run.load(CPU) is None


def test_of_several_processes_one_writes_and_the_others_read_along(tmp_path, told):
    with ResumableRun(IDENTITY, told, root=tmp_path) as leader:
        leader.save(3, state(3))
        (leader.directory / ".file.1.tmp").touch()
        with ResumableRun(IDENTITY, told, exclusive=False, root=tmp_path) as follower:
            assert follower.load(CPU)["progress"]["step"] == 3
        assert (leader.directory / ".file.1.tmp").exists()
        leader.save(6, state(6))


def test_a_state_is_read_as_data_alone(run):
    """A state is a file like any other: nothing in it may be run."""
    run.save(3, {"evil": Evil()})
    with pytest.raises(Exception, match="Weights only load failed"):
        run.load(CPU)


class Evil:
    def __reduce__(self):
        return os.system, ("true",)
