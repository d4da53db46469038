"""Reading the examples of a task that `fetch` wrote."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from maskline.corpus.split import TaskSplit
from maskline.storage import read_manifest

SPLITS: tuple[TaskSplit, ...] = ("train", "validation", "test")


@dataclass(frozen=True)
class Examples:
    """The examples of one split."""

    texts: list[str]
    labels: NDArray[np.int64]
    """(N,) indices into `label_names`."""
    label_names: list[str]


def read_task(directory: Path, split: TaskSplit) -> Examples:
    """Return the examples of one split.

    Raises:
        UserError: the directory is not what fetch wrote.
    """
    manifest = read_manifest(directory, "fetch")
    table = pq.read_table(directory / f"{split}.parquet")
    labels = table["label"].to_numpy().astype(np.int64)
    return Examples(table["text"].to_pylist(), labels, manifest["labels"])
