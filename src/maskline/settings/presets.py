"""Presets: named experiments, each a small difference to params.yaml, as flags of `dvc exp run`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskline.core.errors import UserError, quoted
from maskline.settings.files import merge, read_yaml
from maskline.settings.params import PARAMS, TASKS, Params, parse, task_files

# Hydra, whose grammar `-S` follows, reads these as text without quotes.
_BARE = re.compile(r"(?!(?:true|false|null|nan|inf)$)[a-z][\w./-]*", re.ASCII | re.IGNORECASE)
# The flags are split by the shell at white space and never unquoted; the rest means something to Hydra or the shell.
_REFUSED = re.compile(r"""[\s"'\\`$&|;<>(){}\[\]!#~^]""")
# A part of a key is a name in Hydra's grammar. Anything else would be a key elsewhere, or another argument.
_KEY = re.compile(r"[a-z_][\w-]*", re.ASCII | re.IGNORECASE)


def summary(path: Path) -> str:
    """Return the comment on the first line of a preset file.

    Raises:
        UserError: there is none.
    """
    first, _, _ = path.read_text(encoding="utf-8-sig", errors="replace").partition("\n")
    if not first.startswith("# "):
        raise UserError(f"{path}: the first line must be a comment that says what the preset is for")
    return first.removeprefix("# ")


def flags(*paths: Path, reference: Path = PARAMS) -> list[str]:
    """Return `-S key=value ...` for preset files, checked by applying them to the parameters in `reference`.

    A preset holds the keys of params.yaml that differ, nested as there. `tasks`, where it stands, names all tasks that
    are switched on. A key such as `tasks/sentiment.yaml` holds what differs in the settings file of that task. Of
    several presets, a later one has the last word.

    Raises:
        UserError: a file is no YAML or changes nothing, the changed parameters are not acceptable, or a key or a
            value cannot pass through a shell.
    """
    path, applied = Path(" and ".join(map(str, paths))), _apply(paths, reference)
    return [
        flag
        for override in (
            *_overrides(applied.content, applied.own, "", path),
            *_switches(applied.content[TASKS], applied.params.tasks),
            *(
                override
                for name, file in applied.files.items()
                for override in _overrides(file, applied.others.get(_file(name), {}), f"{_file(name)}:", path)
            ),
        )
        for flag in ("-S", override)
    ]


def load_presets(*paths: Path, reference: Path = PARAMS) -> Params:
    """Return the parameters in `reference` with the changes of preset files; of several, a later one has the last word.

    Raises:
        UserError: as in `flags`.
    """
    return _apply(paths, reference).params


@dataclass(frozen=True)
class _Applied:
    """What presets change."""

    params: Params
    """With the changes."""
    content: dict[str, Any]
    """That of params.yaml, without them."""
    files: dict[str, Any]
    """Those of the tasks that are switched on, without them."""
    own: dict[str, Any]
    """The keys of params.yaml that differ, but for the tasks."""
    others: dict[str, Any]
    """What differs in the settings file of each task, by its path."""


def _apply(paths: Sequence[Path], reference: Path) -> _Applied:
    content, difference = read_yaml(reference), dict[str, Any]()
    for path in paths:
        one = _difference(path, reference)
        difference = merge(difference, one) | ({TASKS: one[TASKS]} if TASKS in one else {})
    path = Path(" and ".join(map(str, paths)))
    own = {key: value for key, value in difference.items() if not _is_file(key) and key != TASKS}
    changed = merge(content, own)
    if TASKS in difference:
        changed[TASKS] = difference[TASKS]
    files = task_files(changed, reference)
    others = {key: value for key, value in difference.items() if _is_file(key)}
    params = parse(
        changed,
        {name: merge(file, others.get(_file(name))) if _file(name) in others else file for name, file in files.items()},
        path,
    )
    if unused := [key for key in others if key not in map(_file, files)]:
        raise UserError(f"{path}: {unused[0]} belongs to no task that is switched on: add it to `tasks`")
    return _Applied(params, content, files, own, others)


def _difference(path: Path, reference: Path) -> dict[str, Any]:
    """Return the content of a preset file, whose keys are text."""
    content = read_yaml(path)
    if not isinstance(content, dict) or not any(_leaves(content)):
        raise UserError(f"{path} changes nothing: give the keys of {reference} that differ, nested as there")
    if odd := [key for key in content if not isinstance(key, str)]:
        raise UserError(f"{path}: {quoted(odd[0])} is no key of {reference}: remove it")
    return content


def _file(task: str) -> str:
    return f"{TASKS}/{task}.yaml"


def _is_file(key: str) -> bool:
    return key.startswith(f"{TASKS}/")


def _overrides(content: Any, difference: Mapping[str, Any], prefix: str, path: Path) -> Iterator[str]:
    """Yield what sets the values of `difference` in a file of `content`, which `prefix` names."""
    _check_keys(difference, path)
    known = dict(_leaves(content))
    for key, value in _leaves(difference):
        yield f"{prefix}{'' if key in known else '+'}{key}={_render(value, f'{path}: {key}')}"


def _check_keys(content: Mapping[str, Any], path: Path) -> None:
    """Refuse keys that a flag would not hold as they are; most are those of a section, but some may be any text."""
    for key, value in content.items():
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise UserError(
                f"{path}: {quoted(key)} is a key of more than ASCII letters, digits, _ and -, which does not survive "
                "`dvc exp run $(...)`; write this key into params.yaml itself"
            )
        if isinstance(value, dict):
            _check_keys(value, path)


def _switches(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield what switches tasks off and on."""
    yield from (f"~{TASKS}.{name}" for name in before if name not in after)
    for name, kind in after.items():
        if before.get(name) != kind:
            yield f"{'' if name in before else '+'}{TASKS}.{name}={kind}"


def _leaves(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and values; lists are values."""
    for key, value in content.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _render(value: Any, where: str) -> str:
    """Return a value in Hydra's override grammar, without anything that a shell would split or expand."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case list():
            return f"[{','.join(_render(item, where) for item in value)}]"
        case str() if _REFUSED.search(value) or not value.isprintable():
            raise UserError(
                f"{where} is {quoted(value)}: white space, quotes, brackets and shell characters do not survive "
                "`dvc exp run $(...)`; write this value into params.yaml itself"
            )
        case str():
            return value if _BARE.fullmatch(value) else f"'{value}'"
        case _:
            raise UserError(
                f"{where} is {quoted(value)}: a preset holds numbers, text, true, false, null and lists of them"
            )
