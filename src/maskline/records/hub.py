"""Datasets on the Hugging Face hub, pinned by revision and streamed, or local directories laid out as one."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from maskline.core.errors import UserError, one_line
from maskline.records.bounds import check_bounds
from maskline.records.files import Record, batch_rows, describe, repeated_column, without_nan
from maskline.records.settings import HubPin

PROBE_SECONDS = 10
"""How long the hub may take to answer at all, before hours of streaming."""
KINDS = ("arrow", "csv", "json", "parquet", "text")
"""Formats of a local directory that are read. Others, such as folders of images, name further files inside."""
CONFIGURATION = ("README.md", ".huggingface.yaml", "dataset_infos.json")
"""Files of a directory that say how its data are read."""
_REPEATED = re.compile(r"Multiple matches for FieldRef\.Name\((.+?)\)|Column\(/(.+?)\) was specified twice")
"""How Arrow says that a file has a column twice."""
SECOND = ".1"
"""What pandas adds to the name of the second column of that name in a CSV file."""


class HubDataset(NamedTuple):
    """An open dataset."""

    splits: dict[str, Any]
    """Split name -> `datasets.IterableDataset`, in the order of the names."""
    provenance: dict[str, Any]
    licence: str


def open_dataset(hub: HubPin, section: str) -> HubDataset:
    """Open every split of a dataset for streaming; `section` of params.yaml, which asked for it, is named in errors.

    Raises:
        UserError: the hub cannot be reached, has no such dataset, configuration or revision, or the dataset reads files
            that are not its own.
    """
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # read when huggingface_hub is imported
    from datasets import load_dataset_builder

    local = Path(hub.dataset).is_dir()
    provenance: dict[str, Any] = {"source": "hub", "dataset": Path(hub.dataset).name if local else hub.dataset}
    provenance["config"] = hub.config
    licence = "that of the local dataset directory, which does not state it" if local else _licence(hub, section)
    try:
        builder = load_dataset_builder(hub.dataset, hub.config, revision=None if local else hub.revision)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # strangers wrote the files, and any error may come of them
        raise _failure(hub.dataset, section, error) from None
    files = sorted({str(file) for part in (builder.config.data_files or {}).values() for file in part})
    if local:
        if builder.name not in KINDS:
            raise UserError(f"{hub.dataset} is a dataset of kind {builder.name}: give one of {', '.join(KINDS)}")
        provenance["inputs"] = _inputs(Path(hub.dataset), files, section)
        _check_bounds(builder, list(map(Path, files)))
    else:
        if own := [file for file in files if "://" not in file or file.startswith(("file:", "local:"))]:
            raise UserError(f"{hub.dataset} reads {one_line(own[0])}, a file of this machine: do not use it")
        provenance["revision"] = hub.revision
    try:
        splits = builder.as_streaming_dataset()
    except MemoryError:
        raise
    except StopIteration:  # what `datasets` lets pass where the first file of JSON lines has none
        raise _failure(hub.dataset, section, ValueError("a file of it is empty")) from None
    except Exception as error:  # noqa: BLE001  # as above
        raise _failure(hub.dataset, section, error) from None
    return HubDataset({name: splits[name] for name in sorted(splits)}, provenance, licence)


def _inputs(directory: Path, files: list[str], section: str) -> list[dict[str, Any]]:
    """Return what a manifest says about the files of a local dataset that are read.

    Raises:
        UserError: one lies outside the directory.
    """
    root = directory.resolve()
    if root.parent.name == "snapshots":  # of the hub's cache, where the files are links to `blobs`
        root = root.parent.parent
    for file in files:
        if "://" in file or not Path(file).resolve().is_relative_to(root):
            raise UserError(
                f"{directory} reads {one_line(file)}, which lies outside it: copy the file into it, or correct "
                f"{section}.hub"
            )
    paths = [*map(Path, files), *(path for path in map(directory.joinpath, CONFIGURATION) if path.is_file())]
    names = [os.path.relpath(path, directory) for path in paths]
    return [{**entry, "name": name} for name, entry in zip(names, describe(paths), strict=True)]


def _check_bounds(builder: Any, paths: list[Path]) -> None:
    """Check that no file of a local dataset expands without end, and let `builder` read Parquet a few rows at a time.

    Raises:
        UserError: a file does, or is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in paths:
        if builder.name != "parquet":
            check_bounds(path, json=builder.name == "json")
            continue
        try:
            with pq.ParquetFile(path) as file:
                rows = batch_rows(path, file.metadata)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise UserError(f"{path} is not a readable Parquet file ({one_line(error)}): fetch it again") from None
        builder.config.batch_size = min(rows, builder.config.batch_size or rows)


def stream(dataset: Iterable[Record], name: str, section: str) -> Iterator[Record]:
    """Yield the records of a split; a number that is NaN is missing.

    Raises:
        UserError: a file is not as it should be or has a column twice, or the hub broke off and did not come back
            within the retries of `datasets`.
    """
    csv = getattr(getattr(dataset, "info", None), "builder_name", None) == "csv"
    try:
        for number, record in enumerate(dataset):
            if csv and not number:
                _check_numbered(record, name)
            yield {column: without_nan(value) for column, value in record.items()}
    except (MemoryError, UserError):
        raise
    except Exception as error:  # noqa: BLE001  # strangers wrote the files, and any error may come of them
        raise _failure(name, section, error) from None


def _check_numbered(record: Record, name: str) -> None:
    for column in record:
        if column.endswith(SECOND) and column.removesuffix(SECOND) in record:
            raise repeated_column(name, column.removesuffix(SECOND))


def _licence(hub: HubPin, section: str) -> str:
    """Return the licence on the dataset's card; the one request tells at once whether the hub answers."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]  # that of the client the library uses

    try:
        card = HfApi().dataset_info(hub.dataset, revision=hub.revision, timeout=PROBE_SECONDS).card_data
    except (OSError, ValueError, HTTPError) as error:
        raise _failure(hub.dataset, section, error) from None
    stated = card.get("license") if card else None
    return f"as stated on the dataset's card: {one_line(stated)}" if stated else "not stated on the dataset's card"


def _failure(name: str, section: str, error: Exception) -> UserError:
    if twice := _REPEATED.search(str(error)):
        return repeated_column(name, twice[1] or twice[2])
    reason = one_line(error) or type(error).__name__
    return UserError(
        f"cannot read the dataset {name} ({reason}): check the network and {section}.hub, "
        f"or set {section}.source to sample or files"
    )
