"""dvc.yaml as it is written, and its stages with `foreach` spelled out."""

from dataclasses import dataclass
from typing import Any

from maskline.settings.files import read_yaml
from tests.project import ROOT


@dataclass(frozen=True)
class Stage:
    """A stage of dvc.yaml, under the name that follows `pipeline.`; `item` is that of its foreach, if it has one."""

    name: str
    item: str | None
    content: dict[str, Any]

    def __str__(self) -> str:
        return self.name if self.item is None else f"{self.name}@{self.item}"

    @property
    def deps(self) -> set[str]:
        return set(self.content["deps"])

    @property
    def params(self) -> list[str]:
        return self.content.get("params", [])

    @property
    def outs(self) -> set[str]:
        return {name for out in self.content["outs"] for name in ([out] if isinstance(out, str) else out)}


def written(root=ROOT):
    """Return the content of dvc.yaml."""
    return read_yaml(root / "dvc.yaml")


def stages(root=ROOT):
    """Return every stage, one for each item of a foreach."""
    found = []
    for name, content in written(root)["stages"].items():
        if "foreach" in content:
            found += [Stage(name, item, _fill(content["do"], item)) for item in content["foreach"]]
        else:
            found.append(Stage(name, None, content))
    return found


def _fill(content, item):
    match content:
        case str():
            return content.replace("${item}", item)
        case list():
            return [_fill(part, item) for part in content]
        case dict():
            return {_fill(key, item): _fill(value, item) for key, value in content.items()}
        case _:
            return content
