"""Where the examples of a task come from: records as they are in the source, for each split that it has."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskline.core.errors import UserError
from maskline.corpus.split import TaskSplit
from maskline.records.files import Record, describe, find, parse_csv, suffix
from maskline.records.hub import open_dataset, stream
from maskline.records.wheel import provenance, read_member

if TYPE_CHECKING:
    from maskline.dataset.settings import DatasetSettings

Reader = Callable[[Path, str], Iterator[Record]]
"""Yield the records of a file in an encoding."""


@dataclass(frozen=True)
class Part:
    """Records of one origin, which errors name."""

    name: str
    records: Iterable[Record]


@dataclass(frozen=True)
class DatasetSource:
    """Records by the split that the source puts them in, and what the manifest says about their origin."""

    parts: Mapping[TaskSplit, list[Part]]
    """`train` holds all that the source puts in no other split."""
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
    files = settings.files
    assert files is not None
    globs: dict[TaskSplit, list[str]] = {
        "train": files.paths,
        "validation": files.validation_paths,
        "test": files.test_paths,
    }
    keys = {"train": "paths", "validation": "validation_paths", "test": "test_paths"}
    found = {
        split: find(patterns, readers, f"{section}.files.{keys[split]}")
        for split, patterns in globs.items()
        if patterns or split == "train"
    }

    def part(path: Path) -> Part:
        return Part(str(path), readers[suffix(path)](path, settings.encoding))

    inputs = {("inputs" if split == "train" else f"{split}_inputs"): describe(paths) for split, paths in found.items()}
    return DatasetSource(
        {split: [part(path) for path in paths] for split, paths in found.items()},
        provenance={"source": "files", "encoding": settings.encoding, **inputs},
        licence="that of the files given, which they do not state",
    )


def _hub(section: str, settings: "DatasetSettings", _readers: Mapping[str, Reader]) -> DatasetSource:
    hub = settings.hub
    assert hub is not None
    dataset = open_dataset(hub, section)
    parts = [
        Part(hub.dataset, _named(stream(split, hub.dataset, section), split.features or {}))
        for split in dataset.splits.values()
    ]
    return DatasetSource({"train": parts}, dataset.provenance, dataset.licence)


def _named(records: Iterable[Record], features: Mapping[str, Any]) -> Iterator[Record]:
    """Replace class numbers by their names where the dataset declares them; -1, the unlabelled, stays as it is."""
    names = {column: _names(feature) for column, feature in features.items()}
    for record in records:
        yield {column: _name(value, names.get(column) or []) for column, value in record.items()}


def _names(feature: Any) -> list[str]:
    """Return the names of a feature's classes, or of those in its lists; none where it has none."""
    return getattr(feature, "names", None) or getattr(getattr(feature, "feature", None), "names", None) or []


def _name(value: Any, names: list[str]) -> Any:
    if isinstance(value, list):
        return [_name(part, names) for part in value]
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value
