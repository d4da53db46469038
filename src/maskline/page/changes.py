"""Parameters that differ from those of another run: which are to be shown, and the command that sets them."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

Params = Mapping[str, Any]
"""Dotted key -> value; those of a task's file begin with the name of the file."""
TASKS = "tasks."
"""Prefix of the parameters that switch tasks on."""


def shown(keys: Iterable[str], *runs: Params) -> list[str]:
    """Return `keys` without those of the file of a task that is not switched on in all of `runs`: that says enough."""
    return [key for key in keys if (task := _task(key)) is None or all(TASKS + task in params for params in runs)]


def command(keys: Iterable[str], params: Params, reference: Params) -> str:
    """Return the command that repeats a run of `params` where `reference` is committed and `keys` differ."""
    off = {key for key in reference if key.startswith(TASKS) and key not in params}
    flags = [_flag(key, params, reference) for key in keys if f"{TASKS}{_task(key)}" not in off]
    return " ".join(["dvc exp run", *(f"-S {shlex.quote(flag)}" for flag in flags)])


def _flag(key: str, params: Params, reference: Params) -> str:
    """Return a change in Hydra's grammar; the file of a task is there before the task is switched on."""
    if key not in params:
        return f"~{key}"
    added = "+" * (key not in reference and _task(key) is None)
    return f"{added}{key}={_value(params[key])}"


def _value(value: Any) -> str:
    r"""Return a value in Hydra's grammar: in text that is quoted, \ stands before ' and what precedes them."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if _PLAIN.fullmatch(value) and value.lower() not in _OTHERS:
        return value
    return f"'{_escaped(value)}'"


_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
"""Text that needs no quotes."""
_OTHERS = {"null", "true", "false", "nan", "inf"}
"""Words that are no text without quotes."""


def _escaped(value: str) -> str:
    parts = value.split("'")
    doubled = [part + "\\" * (len(part) - len(part.rstrip("\\"))) for part in parts]
    return "\\'".join(doubled)


def _task(key: str) -> str | None:
    """Return the task whose file a parameter stands in, None where it is of params.yaml."""
    file, found, _ = key.partition(".yaml:")
    return file.removeprefix("tasks/") if found else None
