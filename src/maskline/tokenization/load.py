"""Loading a tokenizer without transformers, whose import takes seconds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from maskline.core.errors import UserError, one_line
from maskline.core.storage import read_json, read_manifest
from maskline.tokenization.special import KINDS, SPECIAL_TOKENS

TOKENIZER_FILE = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
MOST_IDS = 1 << 22
"""Four times the largest vocabularies that are in use: each id has a row in the embeddings."""


@dataclass(frozen=True)
class SpecialIds:
    """The ids of the special tokens, which are never masked and never drawn."""

    pad: int
    unk: int
    cls: int
    sep: int
    mask: int

    def __iter__(self) -> Iterator[int]:
        return iter((self.pad, self.unk, self.cls, self.sep, self.mask))


class LoadedTokenizer:
    """A tokenizer with its vocabulary and the ids of its special tokens.

    Attributes:
        vocab_size: one more than the highest id; a vocabulary may skip ids.
        pieces: the spelling of each token, by id.
        mask_token: the spelling of the mask token.
    """

    def __init__(self, backend: Tokenizer, special_tokens: Sequence[str] = SPECIAL_TOKENS) -> None:
        """Take `special_tokens` in the order of SpecialIds.

        Raises:
            UserError: an id is MOST_IDS or more.
        """
        self.backend = backend
        vocabulary = backend.get_vocab()
        check_ids(vocabulary)
        self.vocab_size: int = max(vocabulary.values()) + 1
        self.pieces = [f"[no token {number}]" for number in range(self.vocab_size)]
        for piece, number in vocabulary.items():
            self.pieces[number] = piece
        self.special = SpecialIds(*(vocabulary[token] for token in special_tokens))
        self.mask_token = special_tokens[-1]
        self._prefix: str | None = getattr(backend.model, "continuing_subword_prefix", None)

    @cached_property
    def plain(self) -> Tokenizer:
        """Return a copy of `backend` to which a special token that is spelled out in a text is text, as any other."""
        plain = Tokenizer.from_str(self.backend.to_str())
        plain.encode_special_tokens = True
        return plain

    def continuing(self) -> NDArray[np.bool_]:
        """Return for each token whether it continues the word before it, (V,)."""
        return np.array([self.continued(piece) is not None for piece in self.pieces])

    def characters(self) -> NDArray[np.int64]:
        """Return how many characters (Unicode code points) each token adds to the normalized text, (V,)."""
        texts = (piece if (rest := self.continued(piece)) is None else rest for piece in self.pieces)
        return np.array([len(text) for text in texts])

    def continued(self, piece: str) -> str | None:
        """Return the text that `piece` adds to the word before it; None if it begins a word."""
        return piece.removeprefix(self._prefix) if self._prefix and piece.startswith(self._prefix) else None


def check_ids(vocabulary: Mapping[str, int]) -> None:
    """Check that a list with a place for each id of `vocabulary`, token -> id, has a size that a machine can hold.

    Raises:
        UserError: an id is MOST_IDS or more.
    """
    if (highest := max(vocabulary.values())) >= MOST_IDS:
        raise UserError(
            f"the tokenizer has the id {highest:,}, beyond the {MOST_IDS:,} that maskline reads: choose another"
        )


def load_tokenizer(directory: Path) -> LoadedTokenizer:
    """Return the tokenizer that the stage `tokenizer` wrote to `directory`.

    Raises:
        UserError: the directory is incomplete, or a file in it was changed or is no tokenizer.
    """
    read_manifest(directory, "tokenizer")
    config = read_json(directory / TOKENIZER_CONFIG)
    try:
        backend = Tokenizer.from_file(str(directory / TOKENIZER_FILE))
        return LoadedTokenizer(backend, [config[f"{kind}_token"] for kind in KINDS])
    except (UserError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  # what the library raises has no class of its own
        raise UserError(f"{directory} holds no tokenizer ({one_line(error)}): run `dvc repro tokenizer`") from None
