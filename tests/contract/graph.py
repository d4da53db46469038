"""dvc.yaml as it is written, and its stages with `foreach` spelled out."""

from dataclasses import dataclass
from typing import Any

from maskline.settings.files import read_yaml
from tests.project import ROOT

SOURCE = "src/maskline/"


@dataclass(frozen=True)
class Stage:
    """A stage of dvc.yaml, under the name that follows `pipeline.`; of a task's line, for one task and its kind."""

    name: str
    content: dict[str, Any]
    task: str | None = None
    kind: str | None = None

    def __str__(self) -> str:
        return self.name if self.task is None else f"{self.name}@{self.task}"

    @property
    def deps(self) -> list[str]:
        return self.content["deps"]

    @property
    def rooms(self) -> set[str]:
        """The folders of code that it depends on, relative to src/maskline."""
        return {dep.removeprefix(SOURCE) for dep in self.deps if dep.startswith(SOURCE)}

    @property
    def data(self) -> set[str]:
        """What it depends on that a stage before it made."""
        return {dep for dep in self.deps if not dep.startswith(SOURCE)}

    @property
    def params(self) -> list[str]:
        """Dotted keys; those of another file than params.yaml follow its name and a colon."""
        keys = []
        for entry in self.content.get("params", []):
            if isinstance(entry, dict):
                keys += [f"{file}:{key}" for file, names in entry.items() for key in names]
            else:
                keys.append(entry)
        return keys

    @property
    def outs(self) -> set[str]:
        listed = [out for kind in ("outs", "metrics", "plots") for out in self.content.get(kind, [])]
        return {name for out in listed for name in ([out] if isinstance(out, str) else out)}


def written(root=ROOT):
    """Return the content of dvc.yaml."""
    return read_yaml(root / "dvc.yaml")


def stages(content=None, root=ROOT):
    """Return every stage, one for each task of a foreach; of `content` in place of what dvc.yaml holds."""
    params = read_yaml(root / "params.yaml")
    encoder = {f"${{encoder.{key}}}": value for key, value in params["encoder"].items()}
    found = []
    for name, stage in (content or written(root))["stages"].items():
        if stage.get("foreach") == "${tasks}":
            found += [
                Stage(name, _fill(stage["do"], encoder | {"${key}": task, "${item}": kind}), task, kind)
                for task, kind in params["tasks"].items()
            ]
        else:  # that of encoders has one item, and nothing in it depends on that
            found.append(Stage(name, stage.get("do", stage)))
    return found


def _fill(content, values):
    match content:
        case str():
            for place, value in values.items():
                content = content.replace(place, value)
            return content
        case list():
            return [_fill(part, values) for part in content]
        case dict():
            return {_fill(key, values): _fill(value, values) for key, value in content.items()}
        case _:
            return content


def covers(dep, path):
    return path == dep or path.startswith(f"{dep}/")
