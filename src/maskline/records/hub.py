"""Datasets on the Hugging Face hub, pinned by revision and streamed, or local directories laid out as one."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from maskline.core.errors import UserError
from maskline.records.files import Record, describe
from maskline.records.settings import HubPin

PROBE_SECONDS = 10
"""How long the hub may take to answer at all, before hours of streaming."""


class HubDataset(NamedTuple):
    """An open dataset."""

    splits: dict[str, Any]
    """Split name -> `datasets.IterableDataset`, in the order of the names."""
    provenance: dict[str, Any]
    licence: str


def open_dataset(hub: HubPin, section: str) -> HubDataset:
    """Open every split of a dataset for streaming; `section` of params.yaml, which asked for it, is named in errors.

    Raises:
        UserError: the hub cannot be reached, or has no such dataset, configuration or revision.
    """
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # read when huggingface_hub is imported
    from datasets import load_dataset

    local = Path(hub.dataset).is_dir()
    provenance: dict[str, Any] = {"source": "hub", "dataset": Path(hub.dataset).name if local else hub.dataset}
    provenance["config"] = hub.config
    if local:
        files = sorted(path for path in Path(hub.dataset).rglob("*") if path.is_file())
        provenance["inputs"] = describe(files)
        licence = "that of the local dataset directory, which does not state it"
    else:
        licence = _licence(hub, section)
        provenance["revision"] = hub.revision
    try:
        splits = load_dataset(hub.dataset, hub.config, revision=None if local else hub.revision, streaming=True)
    except StopIteration:  # what `datasets` lets pass where the first file of JSON lines has none
        raise UserError(_failure(hub.dataset, section, ValueError("a file of it is empty"))) from None
    except (OSError, ValueError) as error:
        raise UserError(_failure(hub.dataset, section, error)) from None
    return HubDataset({name: splits[name] for name in sorted(splits)}, provenance, licence)


def stream(dataset: Iterable[Record], name: str, section: str) -> Iterator[Record]:
    """Yield the records of a split.

    Raises:
        UserError: the hub broke off and did not come back within the retries of `datasets`.
    """
    from datasets.exceptions import DatasetsError

    try:
        yield from dataset
    except (OSError, ValueError, DatasetsError) as error:
        raise UserError(_failure(name, section, error)) from None


def _licence(hub: HubPin, section: str) -> str:
    """Return the licence on the dataset's card; the one request tells at once whether the hub answers."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]  # that of the client the library uses

    try:
        card = HfApi().dataset_info(hub.dataset, revision=hub.revision, timeout=PROBE_SECONDS).card_data
    except (OSError, ValueError, HTTPError) as error:
        raise UserError(_failure(hub.dataset, section, error)) from None
    stated = card.get("license") if card else None
    return f"as stated on the dataset's card: {stated}" if stated else "not stated on the dataset's card"


def _failure(name: str, section: str, error: Exception) -> str:
    reason = " ".join(str(error).split()) or type(error).__name__
    return (
        f"cannot read the dataset {name} ({reason}): check the network and {section}.hub, "
        f"or set {section}.source to sample or files"
    )
