"""Pretrained tokenizers of BERT's kind, with their own vocabulary, ids, special tokens, length and normalization."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models

from maskline.core.errors import UserError, one_line
from maskline.tokenization.load import check_ids
from maskline.tokenization.special import KINDS
from maskline.vocabulary.settings import PretrainedTokenizer

_COMMIT = re.compile(r"[0-9a-f]{40}")
# The segments that Farasa makes: prefixes such as "w+" and suffixes such as "+ha" (Antoun et al. 2020, sec. 3).
_SEGMENT = re.compile("[ء-ي]{1,4}\\+|\\+[ء-ي]{1,4}")
_KEPT = ("do_lower_case", "strip_accents", "tokenize_chinese_chars")


def load_pretrained(params: PretrainedTokenizer) -> tuple[Tokenizer, dict[str, Any]]:
    """Return a tokenizer of the Hugging Face hub, or of a local directory, and its settings for tokenizer_config.json.

    Raises:
        UserError: it cannot be read, is not pinned, is not of BERT's kind, lacks a special token, or expects segmented
            text where `params` does not say that the text is segmented.
    """
    try:
        return _load(params)
    except (UserError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  # strangers wrote the files, and the libraries raise anything
        if "trust_remote_code" in str(error):
            raise UserError(
                f"the tokenizer {params.name} comes with code of its own, which maskline never runs: choose another"
            ) from None
        raise UserError(
            f"cannot read the tokenizer {params.name} ({one_line(error) or type(error).__name__}): check the network "
            "and tokenizer.pretrained"
        ) from None


def _load(params: PretrainedTokenizer) -> tuple[Tokenizer, dict[str, Any]]:
    loaded = _read(params)
    if not loaded.is_fast:
        raise UserError(
            f"{params.name} is not a tokenizer of the tokenizers library ({type(loaded).__name__}): maskline reads "
            "WordPiece and whole words; choose another"
        )
    tokens = {f"{kind}_token": getattr(loaded, f"{kind}_token") for kind in KINDS}
    if lacking := [name for name, token in tokens.items() if token is None]:
        raise UserError(f"{params.name} has no {', '.join(lacking)}: maskline needs one of BERT's kind")
    check_ids(loaded.backend_tokenizer.get_vocab())  # before to_str, which writes a line for each id up to the highest
    backend = Tokenizer.from_str(loaded.backend_tokenizer.to_str())
    backend.no_truncation()
    backend.no_padding()
    vocabulary = backend.get_vocab()
    _check_kind(params.name, backend, vocabulary[tokens["cls_token"]], vocabulary[tokens["sep_token"]])
    _check_segmentation(params, {*vocabulary, *(loaded.init_kwargs.get("never_split") or ())})
    kept = {name: loaded.init_kwargs[name] for name in _KEPT if loaded.init_kwargs.get(name) is not None}
    return backend, tokens | kept | {"model_max_length": int(loaded.model_max_length)}


def check_segmented(texts: Iterable[str]) -> None:
    """Check that `texts` are segmented, as params.yaml says.

    Raises:
        UserError: no word of them is a segment.
    """
    if not any(_SEGMENT.fullmatch(word) for text in texts for word in text.split()):
        raise UserError(
            "tokenizer.pretrained.segmented is true, but no word of the validation split is a segment such as ال+: "
            "segment corpus and tasks by Farasa first, or take a tokenizer of plain text"
        )


def _read(params: PretrainedTokenizer) -> Any:
    from transformers import AutoTokenizer

    local = Path(params.name).is_dir()
    if not local and not _COMMIT.fullmatch(params.revision or ""):
        raise UserError(
            f"tokenizer.pretrained.revision {params.revision} pins nothing: give the 40 digits of a commit of "
            f"{params.name}, or a directory as name"
        )
    # Without a value, transformers asks at a terminal whether it may run what comes with the tokenizer.
    revision = None if local else params.revision
    return AutoTokenizer.from_pretrained(params.name, revision=revision, trust_remote_code=False)


def _check_kind(name: str, backend: Tokenizer, classifier: int, separator: int) -> None:
    if not isinstance(backend.model, models.WordPiece | models.WordLevel):
        raise UserError(
            f"{name} is a tokenizer of kind {type(backend.model).__name__}: maskline reads WordPiece and whole "
            "words; choose another"
        )
    pair = backend.encode("a", "b")
    inner = [number for number, token in enumerate(pair.ids) if token == separator]
    expected = len(inner) == 2 and inner[1] == len(pair.ids) - 1 and pair.ids[0] == classifier
    if not expected or pair.type_ids != [int(place > inner[0]) for place in range(len(pair.ids))]:
        raise UserError(
            f"{name} lays out pairs as {' '.join(pair.tokens)}, not as BERT does, [CLS] a [SEP] b [SEP]: choose another"
        )


def _check_segmentation(params: PretrainedTokenizer, pieces: set[str]) -> None:
    """Check that a vocabulary of segments is not used for text that is not segmented."""
    segments = sorted(filter(_SEGMENT.fullmatch, pieces))
    if segments and not params.segmented:
        raise UserError(
            f"{params.name} expects text segmented by Farasa (its vocabulary has {', '.join(segments[:3])}), which "
            "maskline does not do: take a tokenizer of plain text, such as aubmindlab/bert-base-arabertv02, or segment "
            "corpus and tasks yourself and set tokenizer.pretrained.segmented to true"
        )
