"""A run to show: where it lies, how it was set, and what its stages left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from maskline.core.errors import UserError
from maskline.core.storage import TIMINGS
from maskline.page.curves import seconds_of
from maskline.reporting.comparison import COMPUTE
from maskline.reporting.lock import Stages
from maskline.reporting.runs import LOCK, parameters
from maskline.reporting.scores import Scores, read_task


@dataclass(frozen=True)
class Source:
    """A run, where it lies and how it was set."""

    folder: Path
    settings: Mapping[str, Any]
    """Name of a settings file -> its content."""
    reference: Mapping[str, Any] | None
    """The settings that the run is held against; None where there are none."""

    @property
    def reports(self) -> Path:
        """Where its stages wrote metrics and curves."""
        return self.folder / "reports"

    @property
    def tasks(self) -> list[str]:
        """The tasks that are switched on."""
        return list(self.settings["params.yaml"].get("tasks") or {})

    @property
    def params(self) -> dict[str, Any]:
        """Its parameters under dotted keys."""
        return parameters(self.settings, "the run")

    @property
    def reference_params(self) -> dict[str, Any]:
        """Those of the reference; its own where there is none."""
        return self.params if self.reference is None else parameters(self.reference, "the reference")

    def changes(self) -> list[str]:
        """Return the keys of the parameters that differ from the reference."""
        ours, theirs = self.params, self.reference_params
        keys = [key for key in dict.fromkeys([*theirs, *ours]) if not key.startswith(COMPUTE)]
        return [key for key in keys if ours.get(key) != theirs.get(key)]

    @cached_property
    def stages(self) -> Stages:
        """What its lock says."""
        lock = self.folder / LOCK
        return Stages(lock.read_text(encoding="utf-8") if lock.is_file() else None, self.settings)

    def scores(self) -> tuple[dict[str, Scores], list[str]]:
        """Return the scores of this run, "" for those of pretraining, and a line for each that is not there."""
        found, missing = dict[str, Scores](), []
        for task in ("", *self.tasks):
            stage = f"score@{task}" if task else "evaluate"
            if not self.stages.is_current(stage):
                missing.append(stale([stage]))
                continue
            try:
                found[task] = read_task(self.reports, task)
            except UserError as error:
                missing.append(self.said(error))
        return found, missing

    def said(self, error: UserError) -> str:
        """Return an error as it is said in the folder of the run, wherever that lies."""
        return str(error).replace(f"{self.folder}/", "")

    def seconds(self, stage: str) -> float | None:
        """Return how long a stage took."""
        return seconds_of(self.folder, TIMINGS, stage)

    def pictures(self, name: str) -> list[tuple[str, str]]:
        """Return the SVG that `plot` drew, for where scripts are off."""
        path = self.reports / "figures" / f"{name}.svg"
        if not path.is_file():
            return []
        content = path.read_text(encoding="utf-8")
        return [(name, content[content.index("<svg") :])]


def stale(stages: Sequence[str]) -> str:
    """Return what is said in place of what former stages left."""
    return f"{', '.join(stages)}: not run with these parameters, or not on what the stages before made"
