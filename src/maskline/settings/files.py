"""Settings files: YAML 1.2 in, one-line errors out."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from maskline.core.errors import UserError, one_line, quoted

Model = TypeVar("Model", bound=BaseModel)


def read_yaml(path: Path) -> Any:
    """Return the plain content of a YAML 1.2 file, as DVC itself reads it (`5e-05` is a number).

    Raises:
        UserError: the file is missing or no YAML, or a part of it stands inside itself.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        content = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is missing: run from the folder that holds it, or `git restore {path}`") from None
    except (YAMLError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        # ruamel reports what it cannot parse by its own class, and what it cannot convert by any.
        raise UserError(f"{path} is no YAML: {one_line(error)}") from None
    if _holds_itself(content, {}):
        raise UserError(f"{path}: a part of it stands inside itself: write it out in place of the alias")
    return content


def _holds_itself(value: Any, seen: dict[int, bool]) -> bool:
    """Return whether an alias makes a cycle; `seen` has the parts by id: True while one is open, then False.

    A part that stands in several places is looked at once, however often it is repeated.
    """
    if not isinstance(value, dict | list) or id(value) in seen:
        return seen.get(id(value), False)
    seen[id(value)] = True
    inner = value.values() if isinstance(value, dict) else value
    found = any(_holds_itself(part, seen) for part in inner)
    seen[id(value)] = False
    return found


def validate(schema: type[Model], content: Any, path: Path) -> Model:
    """Return `content` as `schema` has it; `path` is named in errors.

    Raises:
        UserError: a key is unknown or missing, or a value is not acceptable; the message names file, key, value and
            what would be accepted.
    """
    if not isinstance(content, dict):
        raise UserError(f"{path}: expected sections such as `model:`, found {type(content).__name__}")
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        raise UserError(f"{path}: {_explain(error, path)}") from None


def merge(content: Any, difference: Any) -> Any:
    """Return `content` with the values of `difference` in it, sections nested alike."""
    if not isinstance(content, dict) or not isinstance(difference, dict):
        return difference
    return content | {key: merge(content.get(key), value) for key, value in difference.items()}


def _explain(error: ValidationError, path: Path) -> str:
    """Return one fault in one line, and how many others there are.

    An unknown key comes first: where another one is missing, it is that one misspelt.
    """
    faults = error.errors()
    first = min(faults, key=lambda fault: fault["type"] != "extra_forbidden")
    key = one_line(".".join(str(part) for part in first["loc"]))
    match first["type"]:
        case "extra_forbidden":
            text = f"unknown key {key}: check the spelling, or remove it"
        case "missing":
            text = f"key {key} is missing: `git restore {path}` brings the committed one back, or add it"
        case "value_error":
            reason = one_line(first["msg"].removeprefix("Value error, "))
            text = f"{key}: {reason}" if key else reason
        case _:
            text = f"{key} is {quoted(first['input'])}: {first['msg'][0].lower()}{first['msg'][1:]}"
    others = len(faults) - 1
    return text + (f" (and {others} more)" if others else "")
