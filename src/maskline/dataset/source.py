"""Where the examples of a task come from: records as they are in the source, for each split that it has."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskline.core.errors import UserError, one_line
from maskline.dataset.read import SPLITS
from maskline.records.files import Record, describe, find, parse_csv, suffix
from maskline.records.hub import open_dataset, stream
from maskline.records.wheel import provenance, read_member

if TYPE_CHECKING:
    from maskline.dataset.settings import DatasetHub, DatasetSettings

HIDDEN = -1
"""The number in place of a class in data whose classes are not published."""

Reader = Callable[[Path, str], Iterator[Record]]
"""Yield the records of a file in an encoding."""


@dataclass(frozen=True)
class Part:
    """Records of one origin, which errors name."""

    name: str
    records: Iterable[Record]
    way_out: str | None = None
    """What to do where a split that is held out has no labels; None: what is not held out."""


@dataclass(frozen=True)
class DatasetSource:
    """Records by the split that the source puts them in, and what the manifest says about their origin."""

    parts: Mapping[str, list[Part]]
    """`train` is always there; of `validation` and `test`, what is missing is split off it; others: further tests."""
    provenance: dict[str, Any]
    licence: str


def open_records(section: str, settings: "DatasetSettings", readers: Mapping[str, Reader]) -> DatasetSource:
    """Return the records of `settings.source`.

    Args:
        section: what errors name, such as `tasks/sentiment.yaml: dataset`.
        settings: where the records are.
        readers: suffix of a file -> what reads it.

    Raises:
        UserError: the source cannot be reached, or (while the records are read) is not what it should be.
    """
    return {"sample": _sample, "hub": _hub, "files": _files}[settings.source](section, settings, readers)


def _sample(section: str, settings: "DatasetSettings", _readers: Mapping[str, Reader]) -> DatasetSource:
    sample = settings.sample
    assert sample is not None
    content = read_member(sample, sample.member, section)
    try:
        text = content.decode(settings.encoding)
    except (LookupError, UnicodeDecodeError) as error:
        raise UserError(
            f"{section}.encoding {settings.encoding} does not read {sample.member} ({error}): name that of the file"
        ) from None
    records = parse_csv(io.StringIO(text, newline=""), sample.member, strict=True)
    return DatasetSource(
        {"train": [Part(sample.member, records)]},
        provenance={"source": "sample", "encoding": settings.encoding, **provenance(sample, sample.member)},
        licence=sample.licence,
    )


def _files(section: str, settings: "DatasetSettings", readers: Mapping[str, Reader]) -> DatasetSource:
    """Return the records of files; a file that is held out is not among those to train on, whatever `paths` matches."""
    files = settings.files
    assert files is not None
    globs = {
        "train": files.paths,
        "validation": files.validation_paths,
        "test": files.test_paths,
        **files.further_tests,
    }
    keys = {"train": "paths", "validation": "validation_paths", "test": "test_paths"}
    keys |= {name: f"further_tests.{name}" for name in files.further_tests}
    found = {
        split: find(patterns, readers, f"{section}.files.{keys[split]}")
        for split, patterns in globs.items()
        if patterns or split == "train"
    }
    held_out = {path.resolve() for split, paths in found.items() if split != "train" for path in paths}
    found["train"] = [path for path in found["train"] if path.resolve() not in held_out]
    if not found["train"]:
        raise UserError(f"{section}.files holds out every file of paths: leave some to train on")

    def part(path: Path, split: str) -> Part:
        way_out = None if split == "train" else _way_out(f"{section}.files.{keys[split]}", "[]", split)
        return Part(str(path), readers[suffix(path)](path, settings.encoding), way_out)

    inputs = {("inputs" if split == "train" else f"{split}_inputs"): describe(paths) for split, paths in found.items()}
    return DatasetSource(
        {split: [part(path, split) for path in paths] for split, paths in found.items()},
        provenance={"source": "files", "encoding": settings.encoding, **inputs},
        licence="that of the files given, which they do not state",
    )


def _way_out(key: str, nothing: str, split: str) -> str:
    instead = f", and a part of the others becomes the {split} split" if split in SPLITS else ""
    return f"give one with labels, or set {key} to {nothing}{instead}"


def _hub(section: str, settings: "DatasetSettings", _readers: Mapping[str, Reader]) -> DatasetSource:
    hub = settings.hub
    assert hub is not None
    dataset = open_dataset(hub, section)
    names = _hub_splits(section, hub, list(dataset.splits))

    def part(split: str, name: str) -> Part:
        records = stream(dataset.splits[name], hub.dataset, section)
        if split in hub.further_tests:
            way_out: str | None = f"give one with labels, or leave it out of {section}.hub.further_tests"
        else:
            way_out = None if split == "train" else _way_out(f"{section}.hub.{split}_split", "null", split)
        return Part(f"{hub.dataset}, split {name}", _named(records, dataset.splits[name].features or {}), way_out)

    return DatasetSource(
        {split: [part(split, name)] for split, name in names.items()},
        provenance={
            **dataset.provenance,
            "splits": names,
            "unused_splits": sorted(dataset.splits.keys() - set(names.values())),
        },
        licence=dataset.licence,
    )


def _hub_splits(section: str, hub: "DatasetHub", there: list[str]) -> dict[str, str]:
    """Return the name that each split has in the dataset; `validation` and `test` are left out where it has none.

    Raises:
        UserError: a split of another name is not there, or none to train on, or a further test.
    """
    chosen = {
        "train": hub.train_split,
        "validation": hub.validation_split,
        "test": hub.test_split,
    }
    names: dict[str, str] = {}
    for split, name in chosen.items():
        if name in there:
            names[split] = name
        elif split == "train" or name not in {split, None}:
            remedy = "name one of them" if split == "train" else "name one of them, or null to split one off by a hash"
            raise UserError(
                f"{section}.hub.{split}_split is {name}: {hub.dataset} has {one_line(', '.join(there))}; {remedy}"
            )
    for test, name in hub.further_tests.items():
        if name not in there:
            raise UserError(
                f"{section}.hub.further_tests.{test} is {name}: {hub.dataset} has {one_line(', '.join(there))}; name "
                "one of them, or leave it out"
            )
    return names | hub.further_tests


def _named(records: Iterable[Record], features: Mapping[str, Any]) -> Iterator[Record]:
    """Replace class numbers by their names where the dataset declares them; -1, that of a hidden one, is missing."""
    names = {column: _names(feature) for column, feature in features.items()}
    for record in records:
        yield {column: _name(value, names.get(column) or []) for column, value in record.items()}


def _names(feature: Any) -> list[str]:
    """Return the names of a feature's classes, or of those in its lists; none where it has none."""
    return getattr(feature, "names", None) or getattr(getattr(feature, "feature", None), "names", None) or []


def _name(value: Any, names: list[str]) -> Any:
    if isinstance(value, list):
        return [part if part == HIDDEN else _name(part, names) for part in value]
    if names and value == HIDDEN:
        return None
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value
