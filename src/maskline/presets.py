"""Presets: named experiments, each a small difference to params.yaml, as flags of `dvc exp run`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from maskline.errors import UserError
from maskline.params import PARAMS, parse, read_yaml

# Hydra, whose grammar `-S` follows, reads these as text without quotes.
_BARE = re.compile(r"(?!(?:true|false|null|nan|inf)$)[a-z][\w./-]*", re.ASCII | re.IGNORECASE)
# The flags are split by the shell at white space and never unquoted; the rest means something to Hydra or the shell.
_REFUSED = re.compile(r"""[\s"'\\`$&|;<>(){}\[\]!#~^]""")


def summary(path: Path) -> str:
    """Return the comment on the first line of a preset file.

    Raises:
        UserError: there is none.
    """
    first, _, _ = path.read_text(encoding="utf-8-sig", errors="replace").partition("\n")
    if not first.startswith("# "):
        raise UserError(f"{path}: the first line must be a comment that says what the preset is for")
    return first.removeprefix("# ")


def flags(path: Path, reference: Path = PARAMS) -> list[str]:
    """Return `-S key=value ...` for a preset file, checked by applying it to the parameters in `reference`.

    Raises:
        UserError: the file is no YAML or changes nothing, the changed parameters are not acceptable, or a value
            cannot pass through a shell.
    """
    difference, content = read_yaml(path), read_yaml(reference)
    if not isinstance(difference, dict) or not any(_leaves(difference)):
        raise UserError(f"{path} changes nothing: give the keys of {reference} that differ, nested as there")
    parse(merge(content, difference), path)
    known = dict(_leaves(content))
    changed = [
        (key if key in known else f"+{key}", _render(value, f"{path}: {key}")) for key, value in _leaves(difference)
    ]
    return [flag for key, value in changed for flag in ("-S", f"{key}={value}")]


def merge(content: Any, difference: Any) -> Any:
    """Return `content` with the values of `difference` in it, sections nested alike."""
    if not isinstance(content, dict) or not isinstance(difference, dict):
        return difference
    return content | {key: merge(content.get(key), value) for key, value in difference.items()}


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
                f"{where} is {value!r}: white space, quotes, brackets and shell characters do not survive "
                "`dvc exp run $(...)`; write this value into params.yaml itself"
            )
        case str():
            return value if _BARE.fullmatch(value) else f"'{value}'"
        case _:
            raise UserError(f"{where} is {value!r}: a preset holds numbers, text, true, false, null and lists of them")
