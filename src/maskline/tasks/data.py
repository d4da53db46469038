"""The examples of a task on disk: text and label, without duplicates, split by a hash of the text."""

import csv
import html
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from maskline.corpus.articles import clean
from maskline.corpus.split import TaskSplit, task_split_of
from maskline.corpus.wheel import provenance, read_member
from maskline.errors import UserError
from maskline.params import TaskParams
from maskline.storage import atomic, fresh_directory, read_manifest, write_manifest

SPLITS: tuple[TaskSplit, ...] = ("train", "validation", "test")
SCHEMA = pa.schema({"text": pa.string(), "label": pa.int8()})


class Example(NamedTuple):
    """A text and the index of its class among the labels of the task."""

    text: str
    label: int
