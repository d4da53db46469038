"""Files that grow by whole chunks, so that work that was killed goes on with the same bytes.

They lie in a folder beside the one that they are for, `NAME.partial`, until all is done. `state.json` there says how
long each file was after the last whole chunk: what lies beyond was cut short, and is cut off.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from maskline.core.errors import UserError
from maskline.core.storage import (
    MANIFEST,
    check_ours,
    fresh_directory,
    read_json,
    try_lock,
    write_json,
    write_manifest,
)

STATE = "state.json"
LOCK = ".lock"
SAID = {"texts", "dimensions", "model", "tokenizer"}
"""What the manifest of every directory says that has grown."""


def check_replaceable(out: Path) -> None:
    """Check that `out` is not there, or has grown as well: it may be written anew.

    Raises:
        UserError: it has files that are not ours, or is what another command wrote, such as a model.
    """
    check_ours(out)
    if (out / MANIFEST).is_file() and not read_json(out / MANIFEST).keys() >= SAID:
        raise UserError(f"{out} is what another command wrote, and would go: name another folder")


class Growing:
    """The folder of a directory that is not whole yet; use it as a context manager.

    Attributes:
        counts: what the chunks so far add up to.
        resumed: whether a former process has left some.
    """

    def __init__(self, out: Path, identity: Mapping[str, Any]) -> None:
        """Go on with what is there for `out` if all that shapes it, `identity`, is the same; else begin anew.

        Raises:
            UserError: `out` may not be replaced, the folder beside it has files that are not ours, or another process
                fills it.
        """
        check_replaceable(out)
        self.out = fresh_directory(out)
        self.directory = out.with_name(f"{out.name}.partial")
        self.directory.mkdir(parents=True, exist_ok=True)
        if any(self.directory.iterdir()) and not (self.directory / LOCK).exists():
            raise UserError(
                f"{self.directory} has files that are not ours and would go: move them, or name another place"
            )
        lock = try_lock(self.directory / LOCK)
        if lock is None:
            raise UserError(f"another process fills {self.directory} now: wait for it, or stop it first")
        self._lock = lock
        self._identity = dict(identity)
        self._files: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        state = self._state()
        self.resumed = state is not None
        if state:
            self._files, self.counts = state["files"], state["counts"]
        self._cut_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)

    def _state(self) -> dict[str, Any] | None:
        try:
            state = read_json(self.directory / STATE)
            if state["identity"] != self._identity:
                return None
            sizes = {name: (self.directory / name).stat().st_size for name in state["files"]}
        except (UserError, OSError, LookupError, TypeError):
            return None
        whole = all(sizes[name] >= size for name, size in state["files"].items())
        return dict(state) if whole else None

    def _cut_back(self) -> None:
        """Remove what no whole chunk has written."""
        for path in self.directory.iterdir():
            if path.is_dir():
                if not self.resumed:
                    shutil.rmtree(path)
            elif path.name in self._files:
                os.truncate(path, self._files[path.name])
            elif path.name not in {LOCK, STATE} or (path.name == STATE and not self.resumed):
                path.unlink()

    def append(self, name: str, content: bytes) -> None:
        """Append to the file `name`; it counts once `commit` is called."""
        with (self.directory / name).open("ab") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            self._files[name] = file.tell()

    def commit(self, **counts: int) -> None:
        """Keep what was appended, as a whole chunk that adds `counts`."""
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        write_json(self.directory / STATE, {"identity": self._identity, "counts": self.counts, "files": self._files})

    def finish(self, manifest: Mapping[str, Any], *, without: tuple[str, ...] = ()) -> None:
        """Put what is there in its place, but for the files `without`, and write the manifest there.

        Until that is written, all of it is in the folder beside as well: whatever ends the process, nothing is lost.
        """
        left = {LOCK, STATE, *without}
        for path in sorted(self.directory.iterdir()):
            if path.name not in left:
                _place(path, self.out / path.name)
        write_manifest(self.out, manifest)
        for path in self.directory.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != LOCK:
                path.unlink()
        shutil.rmtree(self.directory)


def _place(path: Path, target: Path) -> None:
    """Give a file, or those of a folder, a second name; where the file system has no such names, copy it."""

    def link(source: str, place: str) -> None:
        try:
            os.link(source, place)
        except OSError:
            shutil.copy2(source, place)

    if path.is_dir():
        shutil.copytree(path, target, copy_function=link)
    else:
        link(str(path), str(target))
