"""The tokenizer of a model, in the model's own directory."""

import json
from pathlib import Path

from maskline.core.errors import UserError
from maskline.core.storage import read_json, sha256
from maskline.tokenization.load import TOKENIZER_CONFIG, TOKENIZER_FILE, load_tokenizer

_COPIED = (TOKENIZER_FILE, "vocab.txt")


def files_for_model(
    tokenizer: Path, max_positions: int, *, segments: bool = True, fills_masks: bool = True
) -> tuple[dict[str, bytes], int]:
    """Return the files that a model which reads `max_positions` tokens keeps of a tokenizer, and the id of [PAD].

    To a model that fills masks, [MASK] in a text is the token. To any other, special tokens that are spelled out in a
    text are text, in `transformers` too. To a model without `segments` it gives no `token_type_ids`.

    Raises:
        UserError: the directory `tokenizer` is incomplete.
    """
    pad = load_tokenizer(tokenizer).special.pad
    settings = read_json(tokenizer / TOKENIZER_CONFIG)
    settings["model_max_length"] = min(max_positions, settings["model_max_length"])
    if not segments:
        settings["model_input_names"] = ["input_ids", "attention_mask"]
    if not fills_masks:
        settings["split_special_tokens"] = True  # what transformers calls it
    files = {name: (tokenizer / name).read_bytes() for name in _COPIED}
    files[TOKENIZER_CONFIG] = (json.dumps(settings, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
    return files, pad


def check_tokenizer(model: Path, tokenizer: Path, stage: str) -> None:
    """Refuse a model directory that was not made with the tokenizer in `tokenizer`.

    Raises:
        UserError: their vocabularies or normalizers differ.
    """
    if sha256(model / TOKENIZER_FILE) != sha256(tokenizer / TOKENIZER_FILE):
        raise UserError(f"{model} was made with another tokenizer than the one in {tokenizer}: run `dvc repro {stage}`")
