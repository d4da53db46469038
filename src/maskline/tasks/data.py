"""The examples of a task on disk: text and label, without duplicates, split by a hash of the text.

`data/tasks/<task>/{train,validation,test}.parquet` hold `text` and `label`, an index into the labels that the
manifest lists.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from maskline.corpus.articles import clean_line
from maskline.corpus.split import TaskSplit, task_split_of
from maskline.errors import UserError
from maskline.params import TaskParams
from maskline.storage import atomic, fresh_directory, write_manifest
from maskline.tasks.examples import SPLITS
from maskline.tasks.sources import TaskSource

SCHEMA = pa.schema({"text": pa.string(), "label": pa.int8()})
ROW_GROUP = 10_000

_RETWEET = re.compile(r"\b[rm]t\s+(?=@)")
_USER_OR_LINK = re.compile(r"@\w+|https?:\S*|www\.\S+")
_EDGES = " \"'“”‘’`:.…|-"  # noqa: RUF001  # the quotes that people type


def duplicate_key(text: str) -> str:
    """Return what two texts share when one is a copy of the other: case, users, links and quoting are left out.

    A retweet repeats a text under other user names and another short link; both copies in different splits would let
    a model recite what it should judge.
    """
    bare = _USER_OR_LINK.sub("", _RETWEET.sub("", text.casefold()))
    return " ".join(bare.split()).strip(_EDGES)


class Selection:
    """Which examples are kept, counting all of them."""

    def __init__(self, pairs: Iterable[tuple[str, str]], labels: list[str]) -> None:
        """Read `pairs` of text and label name; keep those of `labels`, once each, where all copies agree."""
        ids = {label: number for number, label in enumerate(labels)}
        self.read = self.empty = 0
        self.seen = Counter[str]()
        first: dict[str, tuple[str, int]] = {}
        copies = Counter[str]()
        disputed: set[str] = set()
        for raw, label in pairs:
            self.read += 1
            self.seen[label] += 1
            if label not in ids:
                continue
            text = clean_line(html.unescape(raw))
            if not text:
                self.empty += 1
                continue
            key = duplicate_key(text)
            copies[key] += 1
            if first.setdefault(key, (text, ids[label]))[1] != ids[label]:
                disputed.add(key)
        self.conflicting = sum(copies[key] for key in disputed)
        self.kept = {key: example for key, example in first.items() if key not in disputed}
        self.duplicates = sum(copies[key] - 1 for key in self.kept)


def write_task(directory: Path, name: str, source: TaskSource, params: TaskParams) -> dict[str, Any]:
    """Write the examples of a task to a new `directory`, split; return its manifest.

    Raises:
        UserError: a label of params.yaml never occurs, or a split is empty.
    """
    selection = Selection(source.pairs, params.labels)
    for label in params.labels:
        if not selection.seen[label]:
            there = ", ".join(repr(seen) for seen, _ in selection.seen.most_common(10))
            raise UserError(f"tasks.{name}.labels: no example is labelled {label!r}; the labels are {there or 'none'}")
    splits: dict[TaskSplit, list[tuple[str, int]]] = {split: [] for split in SPLITS}
    for key, example in selection.kept.items():
        splits[task_split_of(key, params.validation_fraction, params.test_fraction)].append(example)
    counts = {split: _count(examples, params.labels) for split, examples in splits.items()}
    _check(name, counts, params.labels)
    fresh_directory(directory)
    for split, examples in splits.items():
        texts, labels = zip(*examples, strict=True)
        table = pa.table({"text": texts, "label": labels}, SCHEMA)
        with atomic(directory / f"{split}.parquet") as path:
            pq.write_table(table, path, row_group_size=ROW_GROUP, compression="zstd")
    content = {
        "provenance": source.provenance,
        "licence": source.licence,
        "labels": params.labels,
        "validation_fraction": params.validation_fraction,
        "test_fraction": params.test_fraction,
        "read": selection.read,
        "examples": len(selection.kept),
        "splits": counts,
        "dropped": {
            "other_label": {
                label.encode(errors="backslashreplace").decode(): n  # JSON lines can spell what UTF-8 cannot hold
                for label, n in sorted(selection.seen.items())
                if label not in params.labels
            },
            "empty": selection.empty,
            "duplicate": selection.duplicates,
            "conflicting_label": selection.conflicting,
        },
    }
    write_manifest(directory, content)
    return content


def _count(examples: list[tuple[str, int]], labels: list[str]) -> dict[str, Any]:
    counts = Counter(label for _, label in examples)
    return {"examples": len(examples), "labels": {name: counts[label] for label, name in enumerate(labels)}}


def _check(name: str, counts: dict[TaskSplit, dict[str, Any]], labels: list[str]) -> None:
    total = sum(count["examples"] for count in counts.values())
    for split, count in counts.items():
        if not count["examples"]:
            raise UserError(
                f"tasks.{name}: the {split} split is empty, of {total} examples in all; "
                "add examples, or change its fraction"
            )
    for label in labels:
        if not counts["train"]["labels"][label]:
            raise UserError(f"tasks.{name}: no training example is labelled {label!r}; add examples, or leave it out")
