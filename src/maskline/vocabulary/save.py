"""Saving a tokenizer as a directory from which `transformers.AutoTokenizer` loads the same ids."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from maskline.core.errors import UserError
from maskline.core.storage import fresh_directory, read_json, write_bytes, write_json, write_manifest, write_text
from maskline.tokenization.load import TOKENIZER_CONFIG, TOKENIZER_FILE, LoadedTokenizer
from maskline.tokenization.special import KINDS, SPECIAL_TOKENS
from maskline.vocabulary.settings import TokenizerParams

MODEL_CONFIG = "config.json"
ANY_LENGTH = int(1e30)
"""The value that transformers takes for no limit. The export of a model sets its limit."""


def save(
    tokenizer: Tokenizer,
    directory: Path,
    params: TokenizerParams,
    provenance: Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    others: Mapping[str, bytes] | None = None,
) -> None:
    """Write `tokenizer` to a new `directory`: tokenizer.json, tokenizer_config.json, vocab.txt and a manifest.

    `settings` are those of a pretrained tokenizer, `others` files by name that lie beside it.
    """
    _write(tokenizer, directory, params.kind, provenance, settings or _learned(params), others or {})


def shape_file(model: Path, vocab_size: int) -> dict[str, bytes]:
    """Return the config of the directory `model`, for a vocabulary of `vocab_size` tokens, as a file by name.

    Raises:
        UserError: it has none.
    """
    path = model / MODEL_CONFIG
    if not path.is_file():
        raise UserError(f"{path} is missing: pretrain.init_from names the directory of a model (docs/domain.md)")
    content = read_json(path)
    if not isinstance(content, dict):
        raise UserError(f"{path} is no config of a model: give pretrain.init_from another directory")
    text = json.dumps(content | {"vocab_size": vocab_size}, indent=2, ensure_ascii=False) + "\n"
    return {MODEL_CONFIG: text.encode()}


def save_pretrained(
    tokenizer: Tokenizer,
    directory: Path,
    provenance: Mapping[str, Any],
    settings: Mapping[str, Any],
    others: Mapping[str, bytes],
) -> None:
    """Write a tokenizer that came with a model to a new `directory`, and `others`, files by name, beside it."""
    _write(tokenizer, directory, "pretrained", provenance, settings, others)


def _write(
    tokenizer: Tokenizer,
    directory: Path,
    kind: str,
    provenance: Mapping[str, Any],
    settings: Mapping[str, Any],
    others: Mapping[str, bytes],
) -> None:
    config = _config(settings)
    pieces = LoadedTokenizer(tokenizer, [config[f"{kind}_token"] for kind in KINDS]).pieces
    fresh_directory(directory)
    write_text(directory / TOKENIZER_FILE, tokenizer.to_str(pretty=True) + "\n")
    write_text(directory / "vocab.txt", "\n".join(pieces) + "\n")
    write_json(directory / TOKENIZER_CONFIG, config)
    for name, content in others.items():
        write_bytes(directory / name, content)
    write_manifest(directory, {**provenance, "kind": kind, "vocab_size": len(pieces)})


def _learned(params: TokenizerParams) -> dict[str, Any]:
    return {
        "do_lower_case": params.lowercase,
        "strip_accents": params.strip_accents,
        "tokenize_chinese_chars": True,
        "model_max_length": ANY_LENGTH,
        **{f"{kind}_token": token for kind, token in zip(KINDS, SPECIAL_TOKENS, strict=True)},
    }


def _config(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        # BertTokenizer would build its own normalizer; this class uses the one in tokenizer.json.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "padding_side": "right",
        "truncation_side": "right",
        **settings,
    }
