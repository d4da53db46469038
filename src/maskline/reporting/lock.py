"""Which stages of a run are its own: dvc.lock says what each stage read and made.

DVC leaves the former reports in place where it runs some stages alone. A stage is current where it ran with the run's
own parameters, on what other current stages made.
"""

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any

from maskline.core.errors import UserError


def current_stages(lock: str | None, settings: Mapping[str, Any]) -> Callable[[str], bool]:
    """Return what says of a stage whether it is current.

    Without a lock nothing can be told, and every stage counts as current: these are reports without their pipeline.

    Args:
        lock: the text of dvc.lock, None where there is none.
        settings: name of a settings file -> its content in this run.

    Raises:
        UserError: the lock is no YAML.
    """
    if lock is None:
        return lambda _stage: True
    stages = _stages(lock)
    makers = {out["path"]: (name, out) for name, stage in stages.items() for out in stage.get("outs", [])}
    known: dict[str, bool] = {}

    def current(name: str) -> bool:
        if name not in known:
            known[name] = False  # a circle ends here
            known[name] = name in stages and _has_params(stages[name], settings) and all(map(is_made, inputs(name)))
        return known[name]

    def inputs(name: str) -> list[Mapping[str, Any]]:
        return [dep for dep in stages[name].get("deps", []) if dep["path"] in makers]

    def is_made(dep: Mapping[str, Any]) -> bool:
        maker, out = makers[dep["path"]]
        return dep.get("md5") == out.get("md5") and current(maker)

    return current


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
