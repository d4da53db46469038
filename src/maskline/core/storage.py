"""Files that are either complete or absent: atomic writes, strict JSON and CSV, manifests, fingerprints."""

import csv
import errno
import hashlib
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from maskline.core.errors import UserError, one_line

MANIFEST = "manifest.json"
TIMINGS = Path(".timings")
"""Where each stage that takes long says how long it took: no number of the pipeline depends on it."""
DVC_COPIES = "/.dvc/tmp/exps/"
"""Where DVC puts the copies of a project in which it runs experiments apart."""
SETTINGS = "settings"
"""The module of a room that holds the schema of its parameters, and the room that checks all of them."""
GAP = "nan"
"""What a curve holds where there is no number: `dvc plots` leaves a gap there, and draws an empty field as 0."""
JSON_BYTES = 1 << 28
"""Most bytes of a JSON file that is read. Those of stages have thousands, and a tokenizer's some millions."""
INCOMPLETE = ".incomplete"
"""A file that marks a directory as incomplete until its manifest is written."""
_MARK = b"maskline fills this folder; what lies here may be removed\n"
_LITTER = {".DS_Store"}
"""What the system puts into a folder that someone has looked at."""
_NAMED = 3
_ABSENT = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}
"""What a file system answers that cannot do what is asked of it."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; when the block succeeds, sync it and rename it to `path`.

    Whatever happens in the block, `path` has either all of its former content or all of the new content. An `OSError`
    that names the temporary file, or no file (as with a full disk), is changed to name `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        if error.filename is None or str(error.filename) == str(temporary):
            error.filename, error.filename2 = str(path), None
        raise
    finally:
        temporary.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Remove what processes that were killed within `atomic` have left beside `path`."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.([0-9]{{1,9}})\.tmp")
    with suppress(OSError):  # which is no reason to stop
        for found in path.parent.iterdir():
            if (match := pattern.fullmatch(found.name)) and not _is_alive(int(match[1])):
                found.unlink()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        pass
    return True


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _ABSENT | {errno.EINVAL}:
            raise
        # The content is on the disk already: it is the new name that a loss of power might take back.
        _say_once(f"{path}: this file system syncs no directories ({error.strerror}): after a power cut, run again")
    finally:
        os.close(descriptor)


_said: set[str] = set()


def _say_once(line: str) -> None:
    """Say on stderr what a file system cannot do, the first time that it is met."""
    kind = line.partition(": ")[2]
    if kind not in _said:
        _said.add(kind)
        sys.stderr.write(f"{line}\n")


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Write `content` to `path` atomically, as UTF-8 with the newlines it has."""
    write_bytes(path, content.encode())


def write_json(path: Path, value: Any) -> None:
    """Write `value` as strict JSON.

    Raises:
        ValueError: a number is NaN or infinite; write None and a flag that says why instead.
    """
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Return the content of a JSON file.

    Raises:
        UserError: the file is missing, is not JSON, is nested too deeply, or has more than JSON_BYTES.
    """
    try:
        with path.open("rb") as file:
            content = file.read(JSON_BYTES + 1)
        if len(content) > JSON_BYTES:
            raise UserError(f"{path} has more than {JSON_BYTES:,} bytes: remove it and run `dvc repro`")
        return json.loads(content.decode("utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is missing: run `dvc repro` to make it") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid JSON ({one_line(error)}): remove it and run `dvc repro`") from None


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, missing: str = "") -> None:
    """Write `rows` under a header of `columns`; what is missing or None becomes `missing`, floats keep every digit."""
    header = dict(zip(columns, columns, strict=True))
    write_text(path, _csv_lines([header, *rows], columns, missing))


def append_csv(path: Path, row: Mapping[str, Any], columns: Sequence[str], *, missing: str = "") -> None:
    """Append `row` to what `write_csv` wrote, in one write, so that a reader sees all of it or nothing.

    It costs next to nothing, as it is not synced: a row that must not be lost is kept elsewhere as well. An error of
    the system names `path`.
    """
    try:
        with path.open("ab") as file:
            file.write(_csv_lines([row], columns, missing).encode())
    except OSError as error:
        error.filename = str(path)
        raise


def _csv_lines(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], missing: str) -> str:
    text = io.StringIO()
    filled = ({name: missing if value is None else value for name, value in row.items()} for row in rows)
    csv.DictWriter(text, columns, restval=missing, lineterminator="\n").writerows(filled)
    return text.getvalue()


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file with a header, every field as text.

    Raises:
        UserError: the file is missing, is not CSV, or is cut short.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            columns, rows = reader.fieldnames, list(reader)
    except FileNotFoundError:
        raise UserError(f"{path} is missing: run `dvc repro` to make it") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is not valid CSV ({error}): remove it and run `dvc repro`") from None
    if not columns or any(None in row.values() for row in rows):
        raise UserError(f"{path} is cut short: remove it and run `dvc repro`")
    return rows


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(value: Any) -> str:
    """Return the SHA-256 of a JSON value; the order of keys does not matter."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def source_fingerprint() -> str:
    """Return the SHA-256 over the modules of this package that are at work: another code is another run.

    The check of all settings loads their schema from every room. A room of which nothing else is loaded takes no part,
    and neither does the check itself.
    """
    package = __name__.partition(".")[0]
    loaded = {name: module for name, module in sys.modules.items() if name.startswith(f"{package}.")}
    # A room's own `__init__` belongs to it, and is loaded with its settings.
    room_of = {
        name: name if hasattr(module, "__path__") else name.rpartition(".")[0] for name, module in loaded.items()
    }
    rooms = {room for name, room in room_of.items() if name not in {room, f"{room}.{SETTINGS}"}}
    files = {
        name: module.__file__ for name, module in loaded.items() if room_of[name] in rooms - {f"{package}.{SETTINGS}"}
    }
    return fingerprint({name: sha256(Path(file)) for name, file in files.items() if file})


def write_timing(stage: str, seconds: float, **others: float) -> None:
    """Write how long `stage` took, and what else is known of its pace, where neither git nor DVC looks."""
    write_json(TIMINGS / f"{stage.replace(' ', '@')}.json", {"seconds": round(seconds, 1), **others})


def try_lock(path: Path) -> int | None:
    """Open `path` and lock it against other processes; return the descriptor, or None if another process has the lock.

    The lock is released when the descriptor is closed or the process ends. Where the file system has no locks, that is
    said once, and the descriptor comes without one.

    Raises:
        UserError: this system has no locks at all.
    """
    try:
        import fcntl  # which Windows has not: the rest of this module works there
    except ImportError:
        raise UserError(f"{path} cannot be locked on this system: use Linux, macOS or WSL") from None
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno in _ABSENT | {errno.ENOLCK}:
                _say_once(
                    f"{path}: this file system has no locks ({error.strerror}): start nothing twice in one folder"
                )
                return descriptor
            os.close(descriptor)
            error.filename = str(path)
            raise
        os.close(descriptor)  # the process that had the lock has removed the file


_filling: dict[Path, int] = {}
"""Directory that this process fills -> descriptor of its locked mark."""


def fresh_directory(path: Path) -> Path:
    """Return `path` as an empty directory to fill; files of an earlier or interrupted run are removed.

    The directory is locked against other processes until its manifest is written or this process ends.

    Raises:
        UserError: `path` has files that no stage wrote, or another process fills it.
    """
    path.mkdir(parents=True, exist_ok=True)
    check_ours(path)
    _unlock(path)
    # The mark is made first and is kept: if the process is killed now, a later run may still use this folder.
    mark = try_lock(path / INCOMPLETE)
    if mark is None:
        raise UserError(f"another process writes {path} now: wait for it, or stop it first")
    _filling[path.resolve()] = mark
    try:
        os.pwrite(mark, _MARK, 0)
    except OSError as error:
        error.filename = str(path / INCOMPLETE)
        raise
    for child in path.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        elif child.name != INCOMPLETE:
            child.unlink()
    return path


def check_ours(path: Path) -> None:
    """Raise UserError if the directory `path` has files that no stage wrote, which are lost if it is filled."""
    if strange := list(islice(_strange_files(path), _NAMED + 1)):
        names = ", ".join(strange[:_NAMED]) + (", ..." if len(strange) > _NAMED else "")
        raise UserError(
            f"{path} has files that no stage wrote ({names}), and they would be removed: name another folder"
        )


def _strange_files(directory: Path) -> Iterator[str]:
    """Yield the files of `directory` that neither our mark nor our manifest accounts for."""
    mark = directory / INCOMPLETE
    marked = mark.read_bytes() if mark.is_file() else b""
    if marked == _MARK:
        return
    ours = _listed(directory / MANIFEST) | ({INCOMPLETE} if not marked else set())
    for path in directory.rglob("*"):
        if (path.is_symlink() or not path.is_dir()) and path.name not in _LITTER:
            name = path.relative_to(directory).as_posix()
            if name not in ours:
                yield name


def _listed(manifest: Path) -> set[str]:
    """Return the files that a manifest of ours lists, itself included; none where it is not ours.

    Browser extensions and web pages have a manifest.json as well: ours has size and hash of every file.
    """
    try:
        files = json.loads(manifest.read_bytes())["files"]
        promised = [(entry["bytes"], entry["sha256"]) for entry in files.values()]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return set()
    if all(isinstance(size, int) and _SHA256.fullmatch(str(digest)) for size, digest in promised):
        return {manifest.name, *files}
    return set()


def write_manifest(directory: Path, content: Mapping[str, Any]) -> None:
    """Write the manifest of `directory`: `content`, and the size and hash of every file. This marks it as complete."""
    files = {
        path.relative_to(directory).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in (MANIFEST, INCOMPLETE)
    }
    write_json(directory / MANIFEST, {**content, "files": files})
    (directory / INCOMPLETE).unlink(missing_ok=True)
    _unlock(directory)


def _unlock(directory: Path) -> None:
    mark = _filling.pop(directory.resolve(), None)
    if mark is not None:
        os.close(mark)


def read_manifest(directory: Path, stage: str) -> dict[str, Any]:
    """Check every file of a directory that `stage` wrote against its manifest; return the manifest.

    Raises:
        UserError: the directory is incomplete, or a file is missing, truncated or changed.
    """
    if not (directory / MANIFEST).is_file():
        raise UserError(f"{directory} is incomplete (no {MANIFEST}): run `dvc repro {stage}`")
    manifest = read_json(directory / MANIFEST)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise UserError(f"{directory / MANIFEST} is not what {stage} wrote: run `dvc repro {stage}`")
    for name, promised in manifest["files"].items():
        path = directory / name
        if not path.is_file():
            raise UserError(f"{path} is missing: run `dvc repro {stage}`")
        if path.stat().st_size != promised["bytes"] or sha256(path) != promised["sha256"]:
            # DVC looks at sizes and times alone, and may find nothing to do.
            raise UserError(
                f"{path} is not what {stage} wrote (truncated or changed): remove {directory} and run "
                f"`dvc repro {stage}`"
            )
    return manifest
