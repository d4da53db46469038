"""Loading a tokenizer for use inside the pipeline, without transformers, which takes seconds to import."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from maskline.storage import read_manifest
from maskline.tokenization.wordpiece import SPECIAL_TOKENS

TOKENIZER_FILE = "tokenizer.json"


@dataclass(frozen=True)
class SpecialIds:
    """The ids that stand for no text: never masked, never drawn."""

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
        pieces: how each token is spelled, by id.
    """

    def __init__(self, backend: Tokenizer) -> None:
        self.backend = backend
        self.vocab_size: int = backend.get_vocab_size()
        vocabulary = backend.get_vocab()
        self.pieces = sorted(vocabulary, key=vocabulary.__getitem__)
        self.special = SpecialIds(*(vocabulary[token] for token in SPECIAL_TOKENS))


def load_tokenizer(directory: Path) -> LoadedTokenizer:
    """Return the tokenizer that the stage `tokenizer` wrote to `directory`.

    Raises:
        UserError: the directory is incomplete, or a file in it is not what was written.
    """
    read_manifest(directory, "tokenizer")
    return LoadedTokenizer(Tokenizer.from_file(str(directory / TOKENIZER_FILE)))
