import errno
import fcntl
import io
import json
import math
import os
import re
import signal
import stat
import subprocess
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.core import storage
from maskline.core.errors import UserError
from maskline.core.storage import (
    GAP,
    INCOMPLETE,
    MANIFEST,
    append_csv,
    atomic,
    fingerprint,
    fresh_directory,
    read_csv,
    read_json,
    read_manifest,
    sha256,
    source_fingerprint,
    try_lock,
    write_bytes,
    write_csv,
    write_json,
    write_manifest,
    write_text,
)


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_a_write_that_fails_leaves_the_former_content_and_nothing_else(tmp_path):
    path = tmp_path / "deep" / "file"
    write_bytes(path, b"former")

    def interrupted():
        with atomic(path) as temporary:
            temporary.write_bytes(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"former"
    assert names(path.parent) == ["file"]
    with atomic(path) as temporary:
        temporary.write_bytes(b"new")
        assert path.read_bytes() == b"former"
    assert path.read_bytes() == b"new"
    assert names(path.parent) == ["file"]


KILLED = """
import os, pathlib, signal, sys
from maskline.core.storage import atomic
with atomic(pathlib.Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"half of the n")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_write_left_goes_with_the_next_one(tmp_path):
    path = tmp_path / "file.csv"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = names(tmp_path)
    dead = left.split(".")[-2]
    # Of a process that lives, of another file, of another program.
    kept = [f".file.csv.{os.getppid()}.tmp", ".file.csv.1.tmp", f".file_csv.{dead}.tmp", f".other.{dead}.tmp"]
    kept += [f".file.csv.x{dead}.tmp", f".file.csv.{dead}.tmp.gz", f"file.csv.{dead}.tmp", ".file.csv.99999999999.tmp"]
    for name in kept:
        (tmp_path / name).write_text("not ours")
    write_bytes(path, b"new")
    assert names(tmp_path) == sorted([*kept, "file.csv"])


def test_a_leftover_that_cannot_be_removed_stops_nothing(tmp_path):
    (tmp_path / ".file.999999999.tmp").mkdir()
    write_bytes(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_full_disk_leaves_the_former_content(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_bytes(path, b"former")

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as error:
        write_bytes(path, b"new")
    assert error.value.filename == str(path)
    assert path.read_bytes() == b"former"
    assert names(tmp_path) == ["file"]


def test_the_content_is_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    events = []
    real_fsync, real_replace = os.fsync, Path.replace
    monkeypatch.setattr(storage.os, "fsync", lambda fd: (events.append("sync"), real_fsync(fd)))
    monkeypatch.setattr(Path, "replace", lambda path, to: (events.append("rename"), real_replace(path, to)))
    write_bytes(tmp_path / "file", b"new")
    assert events == ["sync", "rename", "sync"]  # the content, then the name, then the directory that holds it


def test_json_is_strict(tmp_path):
    path = tmp_path / "file.json"
    write_json(path, {"arabic": "عربي", "small": 1.25e-07, "none": None})
    assert read_json(path) == {"arabic": "عربي", "small": 1.25e-07, "none": None}
    assert "عربي" in path.read_text(encoding="utf-8")
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError, match="JSON"):
            write_json(path, {"loss": number})
    assert read_json(path)["small"] == 1.25e-07


def test_a_json_file_that_is_missing_or_cut_short_is_told(tmp_path):
    with pytest.raises(UserError, match=r"file.json is missing: run `dvc repro`"):
        read_json(tmp_path / "file.json")
    for content in (b'{"a": 1', b"", b"\xff\x00"):
        (tmp_path / "file.json").write_bytes(content)
        with pytest.raises(UserError, match=r"file.json is not valid JSON .*: remove it and run `dvc repro`"):
            read_json(tmp_path / "file.json")


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000, "9" * 5_000])
def test_odd_json_is_one_short_line(tmp_path, content):
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"config\.json is not valid JSON \(.*: remove it and run `dvc repro`") as told:
        read_json(path)
    assert len(str(told.value)) < 600


def test_of_json_no_more_is_read_than_its_limit(tmp_path, monkeypatch):
    path = tmp_path / "config.json"
    monkeypatch.setattr(storage, "JSON_BYTES", 9)
    path.write_text('{"a": 12}')
    assert read_json(path) == {"a": 12}
    path.write_text('{"a": 123}')
    with pytest.raises(UserError, match=r"config\.json has more than 9 bytes"):
        read_json(path)


def test_csv_holds_every_digit_and_an_empty_field_for_none(tmp_path):
    rows = [{"step": 1, "loss": 0.1 + 0.2, "text": 'a "quoted", line\nand more'}, {"step": 2, "loss": None, "text": ""}]
    write_csv(tmp_path / "deep" / "file.csv", rows, ("step", "loss", "text"))
    first, second = read_csv(tmp_path / "deep" / "file.csv")
    assert float(first["loss"]) == 0.1 + 0.2
    assert first["text"] == rows[0]["text"]
    assert second == {"step": "2", "loss": "", "text": ""}
    assert b"\r" not in (tmp_path / "deep" / "file.csv").read_bytes()
    with pytest.raises(ValueError, match="other"):
        write_csv(tmp_path / "file.csv", [{"step": 1, "other": 2}], ("step",))
    with pytest.raises(UserError, match=r"no.csv is missing: run `dvc repro`"):
        read_csv(tmp_path / "no.csv")


def test_what_a_curve_lacks_is_a_gap_and_never_an_empty_field(tmp_path):
    """Vega, which draws `dvc plots`, takes an empty field for 0: a loss that does not exist would look perfect."""
    columns = ("step", "loss", "nsp_loss")
    write_csv(tmp_path / "curve.csv", [{"step": 0, "loss": None}], columns, missing=GAP)
    append_csv(tmp_path / "curve.csv", {"step": 1, "loss": 0.0}, columns, missing=GAP)
    append_csv(tmp_path / "curve.csv", {"step": None, "loss": "", "nsp_loss": None}, columns)
    lines = (tmp_path / "curve.csv").read_text().splitlines()
    assert lines == ["step,loss,nsp_loss", "0,nan,nan", "1,0.0,nan", ",,"]


def test_rows_appended_one_by_one_are_the_bytes_of_all_at_once(tmp_path, monkeypatch):
    rows = [
        {"step": 1, "loss": 0.1 + 0.2, "text": 'a "quoted", line\nand more'},
        {"step": 2, "loss": None, "text": "ي"},
    ]
    columns, writes = ("step", "loss", "text"), []
    write_csv(tmp_path / "whole.csv", rows, columns)
    write_csv(tmp_path / "grown.csv", [], columns)

    class Counted(io.FileIO):
        def write(self, content):
            writes.append(len(content))
            return super().write(content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda path, mode: io.BufferedWriter(Counted(path, mode)))
        patch.setattr(os, "fsync", None)
        for row in rows:
            append_csv(tmp_path / "grown.csv", row, columns)
    assert (tmp_path / "grown.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert len(writes) == len(rows)  # a reader never sees half a row
    with pytest.raises(ValueError, match="other"):
        append_csv(tmp_path / "grown.csv", {"step": 3, "other": 2}, columns)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_while_a_row_is_appended_names_the_file():
    with pytest.raises(OSError, match="No space left") as error:
        append_csv(Path("/dev/full"), {"step": 1}, ("step",))
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, "/dev/full")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is cut short"), (b"step,loss\n1,2.0\n2", "is cut short"), (b"\xff\x00", "is not valid CSV")],
)
def test_a_csv_file_that_is_cut_short_or_none_is_told(tmp_path, content, message):
    (tmp_path / "file.csv").write_bytes(content)
    with pytest.raises(UserError, match=rf"file.csv {message}.*: remove it and run `dvc repro`"):
        read_csv(tmp_path / "file.csv")


@pytest.fixture(name="told")
def _told(monkeypatch, capsys):
    """Return what reads the lines said on stderr so far."""
    monkeypatch.setattr(storage, "_said", set())
    return lambda *_: capsys.readouterr().err.splitlines()


def failing(code, only=lambda _: True):
    real = os.fsync

    def call(descriptor, *_):
        if only(descriptor):
            raise OSError(code, os.strerror(code))
        return real(descriptor)

    return call


def is_directory(descriptor):
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP])
def test_a_file_system_that_syncs_no_directories_is_told_once_and_used(tmp_path, monkeypatch, told, code):
    monkeypatch.setattr(storage.os, "fsync", failing(code, is_directory))
    for name in ("one", "other"):
        write_bytes(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"
    reason = f"this file system syncs no directories ({os.strerror(code)})"
    assert told() == [f"{tmp_path}: {reason}: after a power cut, run again"]


def test_what_else_goes_wrong_with_a_directory_names_the_file(tmp_path, monkeypatch, told):
    monkeypatch.setattr(storage.os, "fsync", failing(errno.EIO, is_directory))
    with pytest.raises(OSError, match=re.escape(os.strerror(errno.EIO))) as error:
        write_bytes(tmp_path / "file", b"new")
    assert error.value.filename == str(tmp_path / "file")
    assert told() == []


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS])
def test_content_that_cannot_be_synced_is_no_content(tmp_path, monkeypatch, code):
    """It would not be harmless: the name might come to stand for half of it."""
    monkeypatch.setattr(storage.os, "fsync", failing(code, lambda descriptor: not is_directory(descriptor)))
    with pytest.raises(OSError, match=os.strerror(code)) as error:
        write_bytes(tmp_path / "file", b"new")
    assert error.value.filename == str(tmp_path / "file")
    assert names(tmp_path) == []


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOLCK])
def test_a_file_system_without_locks_is_told_once_and_used(tmp_path, monkeypatch, told, code):
    monkeypatch.setattr(fcntl, "flock", failing(code))
    for name in ("one", "other"):
        write_manifest(fresh_directory(tmp_path / name), {})
        assert names(tmp_path / name) == [MANIFEST]
    reason = f"this file system has no locks ({os.strerror(code)})"
    assert told() == [f"{tmp_path / 'one' / INCOMPLETE}: {reason}: start nothing twice in one folder"]


def test_a_lock_that_fails_otherwise_names_the_file(tmp_path, monkeypatch, told):
    monkeypatch.setattr(fcntl, "flock", failing(errno.EIO))
    open_files = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(OSError, match=re.escape(os.strerror(errno.EIO))) as error:
        try_lock(tmp_path / "lock")
    assert error.value.filename == str(tmp_path / "lock")
    assert len(list(Path("/dev/fd").iterdir())) == open_files
    assert told() == []


WITHOUT_LOCKS = """
import pathlib, sys
sys.modules["fcntl"] = None
import maskline.core.storage as storage, maskline.inference.fill, maskline.pretraining.run, maskline.settings.params
from maskline.core.errors import UserError
try:
    storage.fresh_directory(pathlib.Path(sys.argv[1]))
except UserError as error:
    print(error)
"""


def test_a_system_without_locks_can_import_everything_and_is_told_when_it_needs_one(tmp_path):
    command = [sys.executable, "-c", WITHOUT_LOCKS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / INCOMPLETE} cannot be locked on this system: use Linux, macOS or WSL\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4), st.randoms())
def test_a_fingerprint_does_not_depend_on_the_order_of_keys_and_survives_json(value, random):
    keys = list(value)
    random.shuffle(keys)
    assert fingerprint({key: value[key] for key in keys}) == fingerprint(value)
    assert fingerprint(json.loads(json.dumps(value))) == fingerprint(value)
    assert fingerprint(value | {keys[0]: [value[keys[0]]]}) != fingerprint(value)


def test_a_fingerprint_is_the_same_in_every_process():
    value = {"b": [1, 2.5, None, True], "a": "عربي"}
    assert fingerprint(value) == "42260b118737a099c223d37c32d72ec5b11be62b102ab675adab0d5bc1a37deb"


def test_the_fingerprint_of_the_source_is_that_of_the_modules_in_use(tmp_path, monkeypatch):
    module = types.ModuleType("maskline.model.one")
    module.__file__ = str(tmp_path / "one.py")
    (tmp_path / "one.py").write_text("a = 1\n")
    without = source_fingerprint()
    monkeypatch.setitem(sys.modules, "maskline.model.one", module)
    before = source_fingerprint()
    assert before != without
    (tmp_path / "two.py").write_text("not loaded\n")
    assert source_fingerprint() == before
    (tmp_path / "one.py").write_text("a = 2\n")
    assert source_fingerprint() not in (before, without)


@pytest.fixture(name="load_module")
def _load_module(tmp_path, monkeypatch):
    def load_module(name, text="a = 1\n", *, is_package=False):
        module = types.ModuleType(name)
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        module.__file__ = str(path)
        if is_package:
            module.__path__ = [str(tmp_path)]
        monkeypatch.setitem(sys.modules, name, module)
        return path

    return load_module


@pytest.mark.parametrize("room", ["maskline.odd", "maskline.tasks.odd"])
def test_a_room_of_which_the_settings_alone_are_loaded_takes_no_part(load_module, room):
    before = source_fingerprint()
    room_file, settings_file = load_module(room, is_package=True), load_module(f"{room}.settings")
    assert source_fingerprint() == before
    load_module(f"{room}.work")
    at_work = source_fingerprint()
    assert at_work != before
    for path in (settings_file, room_file):  # now they do
        path.write_text("a = 2\n")
        assert source_fingerprint() != at_work
        path.write_text("a = 1\n")
    assert source_fingerprint() == at_work


def test_the_check_of_all_settings_takes_no_part(load_module):
    before = source_fingerprint()
    load_module("maskline.settings.odd")
    assert source_fingerprint() == before


SWITCH_ON = """
from pathlib import Path
import maskline.pretraining.run
from maskline.core.storage import source_fingerprint
from maskline.settings.params import parse, task_files
from maskline.settings.files import read_yaml
content = read_yaml(Path("params.yaml"))
files = task_files(content)
parse(content | {"tasks": {}}, {})
before = source_fingerprint()
parse(content, files)
assert source_fingerprint() == before
import maskline.tasks.classification.task
assert source_fingerprint() != before
"""


def test_a_task_that_is_switched_on_makes_no_other_run_of_pretraining():
    subprocess.run([sys.executable, "-c", SWITCH_ON], check=True)


@pytest.fixture(name="complete")
def _complete(tmp_path):
    directory = fresh_directory(tmp_path / "out")
    write_text(directory / "a.txt", "some text")
    write_text(directory / "below" / "b.txt", "more text")
    write_manifest(directory, {"count": 2})
    return directory


def test_a_manifest_counts_every_file(complete):
    assert names(complete) == ["a.txt", "below", MANIFEST]
    manifest = read_manifest(complete, "fetch")
    assert manifest["count"] == 2
    assert manifest["files"] == {
        "a.txt": {"bytes": 9, "sha256": sha256(complete / "a.txt")},
        "below/b.txt": {"bytes": 9, "sha256": sha256(complete / "below" / "b.txt")},
    }
    assert sha256(complete / "a.txt") == "b94f6f125c79e3a5ffaa826f584c10d52ada669e6762051b826b55776d05aed2"


@pytest.mark.parametrize(
    ("break_it", "expected"),
    [
        (lambda path: (path / MANIFEST).unlink(), r"out is incomplete \(no manifest.json\): run `dvc repro fetch`"),
        (lambda path: (path / MANIFEST).write_text('{"files"'), r"manifest.json is not valid JSON"),
        (
            lambda path: (path / MANIFEST).write_text("{}"),
            r"manifest.json is not what fetch wrote: run `dvc repro fetch`",
        ),
        (
            lambda path: (path / MANIFEST).write_text("[]"),
            r"manifest.json is not what fetch wrote: run `dvc repro fetch`",
        ),
        (lambda path: (path / "a.txt").unlink(), r"a.txt is missing: run `dvc repro fetch`"),
        (lambda path: (path / "a.txt").write_text("some tex"), r"a.txt is not what fetch wrote \(truncated"),
        (lambda path: (path / "a.txt").write_text("some test"), r"a.txt is not what fetch wrote \(truncated"),
        (lambda path: (path / "below/b.txt").write_text("more text "), r"b.txt is not what fetch wrote \(truncated"),
    ],
)
def test_a_directory_that_is_not_what_was_written_is_told(complete, break_it, expected):
    break_it(complete)
    with pytest.raises(UserError, match=expected):
        read_manifest(complete, "fetch")


def test_a_directory_is_complete_only_once_its_manifest_is_written(tmp_path):
    directory = fresh_directory(tmp_path / "out")
    write_text(directory / "a.txt", "some text")
    with pytest.raises(UserError, match="out is incomplete"):
        read_manifest(directory, "fetch")
    assert names(fresh_directory(directory)) == [INCOMPLETE]


def test_what_a_stage_wrote_is_replaced_and_what_it_did_not_is_kept(complete, tmp_path):
    assert names(fresh_directory(complete)) == [INCOMPLETE]
    assert names(fresh_directory(tmp_path / "new")) == [INCOMPLETE]
    (tmp_path / "empty").mkdir()
    assert names(fresh_directory(tmp_path / "empty")) == [INCOMPLETE]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("the only copy")
    with pytest.raises(UserError, match="thesis has files that no stage wrote"):
        fresh_directory(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "the only copy"


EXTENSION = {"manifest_version": 3, "name": "an extension", "files": ["content.js"]}
HASH = {"bytes": 9, "sha256": "0" * 64}


@pytest.mark.parametrize(
    "manifest",
    [
        json.dumps(EXTENSION),
        json.dumps({"files": {"content.js": "content.js"}}),
        json.dumps({"files": {"content.js": {"bytes": 9, "sha256": "none"}}}),
        json.dumps({"files": {"content.js": {"bytes": "9", "sha256": "0" * 64}}}),
        json.dumps({"files": {"other.js": HASH}}),
        "[" * 100_000,
        "[]", "{}", "no JSON", "",
    ],
)  # fmt: skip
def test_a_folder_with_a_manifest_that_is_not_ours_is_kept(tmp_path, manifest):
    folder = tmp_path / "extension"
    folder.mkdir()
    (folder / MANIFEST).write_text(manifest)
    (folder / "content.js").write_text("all of it")
    with pytest.raises(UserError, match=r"extension has files that no stage wrote \(.*content.js.*\), and they would"):
        fresh_directory(folder)
    assert names(folder) == ["content.js", MANIFEST]
    assert (folder / "content.js").read_text() == "all of it"


@pytest.mark.parametrize("name", ["notes.txt", "below/notes.txt", "new/notes.txt", "below/manifest.json", "link"])
def test_what_someone_put_beside_what_a_stage_wrote_is_kept_and_named(complete, name):
    path = complete / name
    path.parent.mkdir(exist_ok=True)
    if name == "link":
        path.symlink_to("nowhere")
    else:
        path.write_text("mine")
    with pytest.raises(
        UserError, match=rf"^\S+out has files that no stage wrote \({name}\), and they would be removed"
    ):
        fresh_directory(complete)
    assert (complete / "a.txt").read_text() == "some text"
    path.unlink()
    assert names(fresh_directory(complete)) == [INCOMPLETE]


def test_what_is_missing_damaged_or_litter_in_a_directory_of_ours_does_not_keep_it(complete):
    (complete / "a.txt").write_text("changed")
    (complete / "below" / "b.txt").unlink()
    (complete / "below" / ".DS_Store").write_text("")
    assert names(fresh_directory(complete)) == [INCOMPLETE]


def test_a_manifest_that_the_project_has_written_before_is_known(tmp_path):
    """As the first version of this project wrote it."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "a.txt").write_text("some text")
    digest = "b94f6f125c79e3a5ffaa826f584c10d52ada669e6762051b826b55776d05aed2"
    write_json(folder / MANIFEST, {"count": 2, "files": {"a.txt": {"bytes": 9, "sha256": digest}}})
    assert names(fresh_directory(folder)) == [INCOMPLETE]


@pytest.mark.parametrize("content", ["", "of another program"])
def test_a_mark_that_is_not_ours_gives_no_leave(tmp_path, content):
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / INCOMPLETE).write_text(content)
    (folder / "film").write_text("half of it")
    with pytest.raises(UserError, match="downloads has files that no stage wrote"):
        fresh_directory(folder)
    assert names(folder) == [INCOMPLETE, "film"]
    assert (folder / INCOMPLETE).read_text() == content


def test_a_kill_before_the_mark_is_written_leaves_a_folder_that_can_be_used(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / INCOMPLETE).touch()
    assert names(fresh_directory(tmp_path / "out")) == [INCOMPLETE]


def test_many_strange_files_are_named_in_part(tmp_path):
    for number in range(9):
        (tmp_path / str(number)).touch()
    with pytest.raises(UserError, match=r"wrote \(\d, \d, \d, \.\.\.\), and"):
        fresh_directory(tmp_path)


@pytest.mark.parametrize("removed", [0, 1, 2])
def test_a_kill_while_old_content_is_removed_leaves_a_directory_that_can_be_replaced(complete, monkeypatch, removed):
    real, count = Path.unlink, 0

    def unlink(path, **options):
        nonlocal count
        if count == removed:
            raise KeyboardInterrupt
        count += 1
        real(path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", unlink)
        patched.setattr(storage.shutil, "rmtree", lambda path: [unlink(child) for child in path.iterdir()])
        with pytest.raises(KeyboardInterrupt):
            fresh_directory(complete)
    assert names(fresh_directory(complete)) == [INCOMPLETE]


FILL = """
import sys, pathlib
from maskline.core.storage import fresh_directory, write_bytes, write_manifest
folder = fresh_directory(pathlib.Path(sys.argv[1]))
write_bytes(folder / "first", b"1")
print("filling", flush=True)
sys.stdin.readline()
write_manifest(folder, {})
print("done", flush=True)
sys.stdin.readline()
"""


def test_two_processes_do_not_fill_one_directory(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-c", FILL, str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "filling\n"
        with pytest.raises(UserError, match=r"^another process writes .*out now: wait for it, or stop it first$"):
            fresh_directory(out)
        assert names(out) == [INCOMPLETE, "first"]  # nothing of the other's is touched
        first.stdin.write("\n")
        first.stdin.flush()
        assert first.stdout.readline() == "done\n"
        fresh_directory(out)  # its manifest is written: whoever comes next may replace it, while it still runs
        assert names(out) == [INCOMPLETE]
        first.kill()
    second = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=60)
    assert second.returncode == 1  # this process is at it now


def test_a_killed_process_holds_no_directory(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-c", FILL, str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "filling\n"
        first.kill()
    fresh_directory(out)
    fresh_directory(out)  # nor does this process refuse itself, after an error for example
    write_manifest(out, {})
    assert names(out) == [MANIFEST]
