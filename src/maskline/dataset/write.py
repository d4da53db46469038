"""The examples of a task on disk: without duplicates, in the splits of the source or split by a hash.

Near copies, such as retweets, stay and are counted, in one split: otherwise a model could recite what it should judge.

`data/tasks/<task>/{train,validation,test}.parquet`, and one file for each further test, have the columns of the kind of
task, and `id`; the manifest says where the examples come from, how many there are, and what was left out and why.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from maskline.core.errors import UserError
from maskline.core.storage import atomic, fresh_directory, write_manifest
from maskline.corpus.split import task_split_of
from maskline.dataset.read import ID, SPLITS
from maskline.dataset.source import DatasetSource, Part, Reader, open_records

if TYPE_CHECKING:
    from maskline.dataset.settings import DatasetSettings

ROW_GROUP = 10_000
ID_DIGITS = 16

Row = Mapping[str, Any]
S_contra = TypeVar("S_contra", bound="DatasetSettings", contravariant=True)


@dataclass(frozen=True)
class Example:
    """An example as it is kept."""

    key: str
    """What copies of one example share: one of them stays."""
    answer: Hashable
    """What copies must agree in, such as the label: where they do not, none of them is kept."""
    row: Row
    """Column -> value."""
    id: str | None = None
    """As the source has it; None: one is made of the key."""
    group: str | None = None
    """What examples share that must stay in one split, such as near copies; None: `key`."""

    @property
    def near(self) -> str:
        """Return what near copies share."""
        return self.key if self.group is None else self.group


class Examples(Protocol[S_contra]):
    """How a kind of task makes examples of records: what the stage `dataset` needs of it."""

    def schema(self, settings: S_contra) -> pa.Schema:
        """Return the columns of an example."""

    def readers(self, settings: S_contra) -> Mapping[str, Reader]:
        """Return what reads the files of this kind, by suffix."""

    def read(self, part: Part, settings: S_contra, dropped: Counter[str]) -> Iterator[Example]:
        """Yield the examples of some records; count in `dropped` those that are none, by reason.

        Raises:
            UserError: a record is not what this kind needs.
        """

    def facts(self, settings: S_contra, splits: Mapping[str, Sequence[Row]], section: str) -> "Facts":
        """Return what the manifest says of the examples, beside their numbers.

        Raises:
            UserError: something is missing in them that the kind needs; `section` is named.
        """


@dataclass(frozen=True)
class Facts:
    """What a manifest says of the examples of a task."""

    dataset: Mapping[str, Any]
    """Of all, such as the labels."""
    splits: Mapping[str, Mapping[str, Any]]
    """Of each split, such as how often a label occurs."""
    dropped: Mapping[str, Any] = field(default_factory=dict)
    """Of records that were left out, beside what `read` has counted."""


@dataclass
class _Kept:
    """Which examples are kept, counting all of them."""

    read: int = 0
    ids: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    splits: dict[str, list[Row]] = field(default_factory=lambda: {split: [] for split in SPLITS})
    near: dict[str, Counter[str]] = field(default_factory=lambda: {split: Counter() for split in SPLITS})
    """What near copies share -> how many examples of the split share it."""
    held_out: set[str] = field(default_factory=set)
    duplicates: int = 0
    conflicting: int = 0

    def hold_out(self, split: str, examples: Iterable[Example]) -> None:
        """Take a split as the source gives it: scores are compared on it, so that all of it stays."""
        self.splits[split], self.near[split] = [], Counter()
        for example in examples:
            self._append(split, example)
            self.held_out.add(example.key)

    def divide(self, examples: Iterable[Example], fractions: tuple[float, float]) -> None:
        """Take each example once, where all copies agree and none, nor a near one, is held out.

        The split is the one that a hash of what near copies share gives.
        """
        held_near = {near for counts in self.near.values() for near in counts}
        first: dict[str, Example] = {}
        copies = Counter[str]()
        disputed: set[str] = set()
        for example in examples:
            if example.key in self.held_out:
                self.duplicates += 1
                continue
            if example.near in held_near:
                self.dropped["near_held_out"] += 1
                continue
            copies[example.key] += 1
            if first.setdefault(example.key, example).answer != example.answer:
                disputed.add(example.key)
        self.conflicting = sum(copies[key] for key in disputed)
        kept = {key: example for key, example in first.items() if key not in disputed}
        self.duplicates += sum(copies[key] - 1 for key in kept)
        for example in kept.values():
            self._append(task_split_of(example.near, *fractions), example)

    def near_copies(self, split: str) -> int:
        """Return how many examples of a split have a near copy before them in it."""
        return sum(count - 1 for count in self.near[split].values())

    def _append(self, split: str, example: Example) -> None:
        """Keep an example under an id of its own."""
        name = example.id or sha256(example.key.encode(errors="backslashreplace")).hexdigest()[:ID_DIGITS]
        self.ids[name] += 1
        number = self.ids[name]
        self.near[split][example.near] += 1
        self.splits[split].append({ID: name if number == 1 else f"{name}-{number}", **example.row})


def write_dataset(directory: Path, name: str, settings: S_contra, examples: Examples[S_contra]) -> dict[str, Any]:
    """Write the examples of the task `name` to a new `directory`, split; return its manifest.

    Raises:
        UserError: the source does not serve, or a split is empty.
    """
    section = f"tasks/{name}.yaml: dataset"
    source = open_records(section, settings, examples.readers(settings))
    kept = _select(source, settings, examples)
    facts = examples.facts(settings, kept.splits, section)
    _check_splits(section, source, {split: len(rows) for split, rows in kept.splits.items()})
    whole = source.parts.keys() >= set(SPLITS)
    schema = pa.schema([(ID, pa.string()), *examples.schema(settings)])
    fresh_directory(directory)
    for split, rows in kept.splits.items():
        with atomic(directory / f"{split}.parquet") as path:
            pq.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=ROW_GROUP, compression="zstd")
    content = {
        "provenance": source.provenance,
        "licence": source.licence,
        **facts.dataset,
        "validation_fraction": settings.validation_fraction if "validation" not in source.parts else None,
        "test_fraction": settings.test_fraction if "test" not in source.parts else None,
        "read": kept.read,
        "examples": sum(map(len, kept.splits.values())),
        "splits": {
            split: {
                "from": "source" if whole or (split != "train" and split in source.parts) else "hash",
                "examples": len(rows),
                "near_copies": kept.near_copies(split),
                **facts.splits[split],
            }
            for split, rows in kept.splits.items()
        },
        "dropped": {
            **facts.dropped,
            **kept.dropped,
            "duplicate": kept.duplicates,
            "conflicting_label": kept.conflicting,
        },
    }
    write_manifest(directory, content)
    return content


def _select(source: DatasetSource, settings: S_contra, examples: Examples[S_contra]) -> _Kept:
    kept = _Kept()

    def found(split: str) -> Iterator[Example]:
        for part in source.parts[split]:
            counted = replace(part, records=_counted(part.records, kept))
            yield from examples.read(counted, settings, kept.dropped)

    for split in dict.fromkeys((*SPLITS, *source.parts)):
        if split != "train" and split in source.parts:
            kept.hold_out(split, found(split))
    fractions = tuple(
        0.0 if split in source.parts else fraction
        for split, fraction in (("validation", settings.validation_fraction), ("test", settings.test_fraction))
    )
    kept.divide(found("train"), (fractions[0], fractions[1]))
    return kept


def _counted(records: Iterable[Any], kept: _Kept) -> Iterator[Any]:
    for record in records:
        kept.read += 1
        yield record


def _check_splits(section: str, source: DatasetSource, sizes: Mapping[str, int]) -> None:
    total = sum(sizes.values())
    for split, size in sizes.items():
        if not size:
            own = [part.way_out for part in source.parts.get(split, []) if part.way_out]
            raise UserError(
                f"{section}: the {split} split is empty, of {total} examples in all; "
                f"{own[0] if own else 'add examples, or change its fraction'}"
            )
