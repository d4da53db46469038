"""By which hashes a model is known to what was made with it."""

from pathlib import Path

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, fingerprint, read_json

TOKENIZER = "tokenizer.json"


def hashes_of(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of the `model` in `directory`, its config and weights, and of its `tokenizer`.

    Raises:
        UserError: there is no manifest of a model.
    """
    if not (directory / MANIFEST).is_file():
        raise UserError(f"{directory} is no model ({MANIFEST} is missing): name a directory that a stage wrote")
    try:
        files = {name: entry["sha256"] for name, entry in read_json(directory / MANIFEST)["files"].items()}
        model = {
            name: digest
            for name, digest in files.items()
            if name == "config.json" or name.endswith((".safetensors", ".onnx"))
        }
        return {"model": fingerprint(model), "tokenizer": files[TOKENIZER]}
    except (LookupError, TypeError, AttributeError):
        raise UserError(f"{directory / MANIFEST} is not that of a model: name a directory of one") from None
