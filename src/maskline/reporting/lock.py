"""Which stages of a run are its own: dvc.lock says what each stage read and made.

DVC leaves the former reports in place where it runs some stages alone. A stage is current where it ran with the run's
own parameters, on what other current stages made.
"""

from collections.abc import Mapping
from io import StringIO
from typing import Any

from maskline.core.errors import UserError


class Stages:
    """What dvc.lock says of the stages of a run.

    Without a lock nothing can be told, and every stage counts as current: these are reports without their pipeline.
    """

    def __init__(self, lock: str | None, settings: Mapping[str, Any]) -> None:
        """Read a lock.

        Args:
            lock: the text of dvc.lock, None where there is none.
            settings: name of a settings file -> its content in this run.

        Raises:
            UserError: the lock is no YAML.
        """
        self._settings = settings
        self._stages = None if lock is None else _stages(lock)
        self._makers = {
            out["path"]: (name, out) for name, stage in (self._stages or {}).items() for out in stage.get("outs", [])
        }
        self._known: dict[str, bool] = {}

    def is_current(self, name: str) -> bool:
        """Return whether a stage ran with the run's own parameters, on what other current stages made."""
        if self._stages is None:
            return True
        if name not in self._known:
            self._known[name] = False  # a circle ends here
            self._known[name] = (
                name in self._stages
                and _has_params(self._stages[name], self._settings)
                and all(self._is_made(dep) for dep in self._deps(name) if dep["path"] in self._makers)
            )
        return self._known[name]

    def read_hash(self, name: str, path: str) -> str | None:
        """Return the hash of what a stage read at `path`, None where nothing says."""
        return next((dep.get("md5") for dep in self._deps(name) if dep["path"] == path), None)

    def names(self) -> list[str]:
        """Return the names of the stages that have run, in the order of the lock."""
        return list(self._stages or {})

    def outs(self) -> list[tuple[str, str, str]]:
        """Return what each stage made: its name, a path and the hash of that."""
        return [(name, path, str(out.get("md5"))) for path, (name, out) in self._makers.items()]

    def _deps(self, name: str) -> list[Mapping[str, Any]]:
        return list((self._stages or {}).get(name, {}).get("deps", []))

    def _is_made(self, dep: Mapping[str, Any]) -> bool:
        maker, out = self._makers[dep["path"]]
        return dep.get("md5") == out.get("md5") and self.is_current(maker)


def _stages(lock: str) -> Mapping[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        stages = YAML(typ="safe", pure=True).load(StringIO(lock))["stages"]
    except (YAMLError, KeyError, TypeError):
        raise UserError("dvc.lock is not what DVC writes: `git restore dvc.lock`, or run `dvc repro`") from None
    return stages if isinstance(stages, Mapping) else {}


def _has_params(stage: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Return whether a stage ran with the parameters of `settings`."""
    return all(
        _at(settings.get(file), key) == value
        for file, values in stage.get("params", {}).items()
        for key, value in values.items()
    )


def _at(content: Any, key: str) -> Any:
    """Return what stands at a dotted key, None where nothing does."""
    for part in key.split("."):
        if not isinstance(content, Mapping) or part not in content:
            return None
        content = content[part]
    return content
