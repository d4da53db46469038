"""Resumable states: where a run stands, outside everything that DVC manages.

DVC removes a stage's outs before it runs it and may bring back those of another configuration. So the state of a run
lives in `.runs/<fingerprint>/`, where the fingerprint is the hash of everything that shapes the result: another
fingerprint is another run. A state is a pair of files, `state-00000500.pt` and, written after it,
`state-00000500.json` with its hash; one that was cut short or changed is noticed, and the one before it is taken.

The last state of a finished run stays, with its curves, until another run of the same stage begins: whoever runs the
stage may fail to keep what it wrote, and a second run of the same identity only writes that anew.

Beside the states lie the curves, `train.csv` and `validation.csv`, which anybody may read while the run trains. The run
itself reads its states alone, which hold every row too.
"""

import io
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from maskline.core.errors import UserError
from maskline.core.storage import (
    GAP,
    MANIFEST,
    append_csv,
    fingerprint,
    read_json,
    sha256,
    source_fingerprint,
    try_lock,
    write_bytes,
    write_csv,
    write_json,
)

RUNS = Path(".runs")
KEPT = 2
REPORTS = ("train.csv", "validation.csv", "metrics.json")
"""What a stage writes to its reports when the run is finished."""
IDENTITY = "identity.json"
FINISHED = "finished"
"""The key in the file beside a state that says so."""
_STATE = re.compile(r"state-([0-9]{8,})\.json")


def identity_of(stage: str, params: Mapping[str, Any], inputs: Mapping[str, Path]) -> dict[str, Any]:
    """Return everything that shapes the result of a stage, as JSON.

    Args:
        stage: and what it works on.
        params: those that shape a number.
        inputs: name -> directory that an earlier stage wrote.
    """
    return {
        "stage": stage,
        "params": dict(params),
        "inputs": {name: sha256(path / MANIFEST) for name, path in inputs.items()},
        "source": source_fingerprint(),
    }


class ResumableRun:
    """The directory of one run, locked against a second process; use as a context manager."""

    def __init__(
        self, identity: dict[str, Any], say: Callable[[str], None], *, exclusive: bool = True, root: Path = RUNS
    ) -> None:
        """Name the run by `identity`, a JSON value that holds its `stage`; `say` prints a line for the user.

        Of several processes at one run the first alone is `exclusive`: it holds the lock and writes, the others read.
        """
        self.identity = identity
        self.exclusive = exclusive
        self.directory = root / fingerprint(identity)[:16]
        self.say = say
        self._lock: int | None = None
        self._begun_before = False

    def __enter__(self) -> Self:
        if not self.exclusive:
            return self
        self._begun_before = self.directory.exists()
        self.directory.mkdir(parents=True, exist_ok=True)
        self._lock = try_lock(self.directory / "lock")
        if self._lock is None:
            raise UserError(f"another process is at this very run ({self.directory}): wait for it, or stop it first")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Write the state after `step` updates; only then remove the one before the last."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        path = self._path(step)
        if not (self.directory / IDENTITY).exists():
            write_json(self.directory / IDENTITY, self.identity)
        write_bytes(path, buffer.getvalue())
        write_json(path.with_suffix(".json"), {"step": step, "sha256": sha256(path)})
        self._keep_newest(KEPT)

    def load(self, device: torch.device) -> dict[str, Any] | None:
        """Return the newest state that is whole, None if there is none; say which is taken and which passed over.

        What finished runs of this stage with another identity have kept is removed.
        """
        if self.exclusive:
            for stray in self.directory.glob(".*.tmp"):
                stray.unlink()
            self._forget_finished_others()
        for step in reversed(self._steps()):
            path = self._path(step)
            if self._is_whole(path):
                state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
                if _is_finished(self.directory):
                    self.say(
                        f"this run is finished: its results are written anew; to train again, remove {self.directory}"
                    )
                else:
                    self.say(f"resuming after step {step} from {path}")
                return state
            self.say(f"{path} is damaged: trying the state before it")
        if self._steps():
            self.say("no state is left: starting from the beginning")
        elif self._begun_before:
            self.say("this run was interrupted before it saved a state: starting from the beginning")
        elif others := self._unfinished_others():
            self.say(
                f"starting from the beginning: what is unfinished in {', '.join(map(str, others))} has other "
                "parameters, inputs or code"
            )
        return None

    def write_curve(self, name: str, rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
        """Let NAME.csv hold `rows`, those of the state at hand: what followed it is measured again."""
        if self.exclusive:
            write_csv(self.directory / f"{name}.csv", rows, columns, missing=GAP)

    def append_to_curve(self, name: str, row: Mapping[str, Any], columns: Sequence[str]) -> None:
        """Add a row to NAME.csv."""
        if self.exclusive:
            append_csv(self.directory / f"{name}.csv", row, columns, missing=GAP)

    def finish(self) -> None:
        """Say that all is written that the run was for; its last state and its curves stay for now."""
        self._keep_newest(1)
        for step in self._steps():
            path = self._path(step).with_suffix(".json")
            write_json(path, {**read_json(path), FINISHED: True})

    def _keep_newest(self, count: int) -> None:
        for old in self._steps()[:-count]:
            self._path(old).with_suffix(".json").unlink(missing_ok=True)
            self._path(old).unlink(missing_ok=True)

    def _forget_finished_others(self) -> None:
        for other in self._others():
            if self._stage(other) != self.identity["stage"] or not _is_finished(other):
                continue
            lock = try_lock(other / "lock")
            if lock is None:
                continue
            try:
                if _is_finished(other):  # it may have gone on until it was locked
                    (other / f"{_name(_steps_in(other)[-1])}.json").unlink()  # first: half a state would look damaged
                    shutil.rmtree(other)
            finally:
                os.close(lock)

    def _others(self) -> list[Path]:
        """Return the directories of other runs of this stage, or of one that nothing tells, that have a state."""
        states = self.directory.parent.glob("*/state-*.json")
        others = sorted({path.parent for path in states if _STATE.fullmatch(path.name)} - {self.directory})
        return [other for other in others if self._stage(other) in {self.identity["stage"], None}]

    def _unfinished_others(self) -> list[Path]:
        return [other for other in self._others() if not _is_finished(other)]

    @staticmethod
    def _stage(directory: Path) -> Any:
        """Return the stage that the run in `directory` is one of; None where nothing tells."""
        try:
            return read_json(directory / IDENTITY)["stage"]
        except (UserError, KeyError, TypeError):
            return None

    @staticmethod
    def _is_whole(path: Path) -> bool:
        try:
            return path.is_file() and sha256(path) == read_json(path.with_suffix(".json"))["sha256"]
        except (UserError, KeyError, TypeError):
            return False

    def _path(self, step: int) -> Path:
        return self.directory / f"{_name(step)}.pt"

    def _steps(self) -> list[int]:
        return _steps_in(self.directory)


def _name(step: int) -> str:
    return f"state-{step:08d}"


def _steps_in(directory: Path) -> list[int]:
    """Return the steps after which a run has a state, in order."""
    found = (_STATE.fullmatch(path.name) for path in directory.glob("state-*.json"))
    return sorted(int(match[1]) for match in found if match)


def _is_finished(directory: Path) -> bool:
    """Return whether the newest state is the last one of a run that has written all it was for."""
    try:
        return read_json(directory / f"{_name(_steps_in(directory)[-1])}.json")[FINISHED] is True
    except (UserError, LookupError, TypeError):
        return False
