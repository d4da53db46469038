"""Reading the examples of a task that the stage `dataset` wrote."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from maskline.core.storage import read_manifest
from maskline.corpus.split import TaskSplit

SPLITS: tuple[TaskSplit, ...] = ("train", "validation", "test")

ID = "id"
"""The column that every task has, whatever its kind."""
Columns = dict[str, list[Any]]
"""Column -> its values, one for each example."""


@dataclass(frozen=True)
class Dataset:
    """The examples of a task, and what its manifest says of them."""

    manifest: dict[str, Any]
    splits: dict[str, Columns]
    """Train, validation and test, and others that are to be scored."""

    @property
    def further_tests(self) -> list[str]:
        """Return the names of the splits that are scored beside test."""
        return [split for split in self.splits if split not in SPLITS]

    def scored_on(self, split: str) -> "Dataset":
        """Return the same examples with `split` in place of test."""
        return replace(self, splits={**self.splits, "test": self.splits[split]})


def read_dataset(directory: Path, name: str) -> Dataset:
    """Return the examples of the task `name`.

    Raises:
        UserError: the directory is not what the stage wrote.
    """
    manifest = read_manifest(directory, f"dataset@{name}")
    splits = (*SPLITS, *(split for split in manifest["splits"] if split not in SPLITS))
    return Dataset(manifest, {split: pq.read_table(directory / f"{split}.parquet").to_pydict() for split in splits})
