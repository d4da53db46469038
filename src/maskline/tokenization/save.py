"""Saving a tokenizer as a directory that `transformers.AutoTokenizer` loads with the same ids."""

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from maskline.params import TokenizerParams
from maskline.storage import fresh_directory, write_json, write_manifest, write_text
from maskline.tokenization.load import TOKENIZER_FILE

ANY_LENGTH = int(1e30)
"""What transformers takes for no limit: how long an input may be is the model's to say, whose export does."""


def save(tokenizer: Tokenizer, directory: Path, params: TokenizerParams, provenance: dict[str, Any]) -> None:
    """Write `tokenizer` to a new `directory`: tokenizer.json, tokenizer_config.json, vocab.txt and a manifest."""
    vocabulary = tokenizer.get_vocab()
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    fresh_directory(directory)
    write_text(directory / TOKENIZER_FILE, tokenizer.to_str(pretty=True) + "\n")
    write_text(directory / "vocab.txt", "\n".join(pieces) + "\n")
    write_json(directory / "tokenizer_config.json", _config(params))
    write_manifest(directory, {**provenance, "vocab_size": len(pieces)})


def _config(params: TokenizerParams) -> dict[str, Any]:
    return {
        # BertTokenizer would build a normalizer of its own, without NFC; this class takes the one in tokenizer.json.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "do_lower_case": params.lowercase,
        "strip_accents": params.strip_accents,
        "tokenize_chinese_chars": True,
        "model_max_length": ANY_LENGTH,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "padding_side": "right",
        "truncation_side": "right",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
