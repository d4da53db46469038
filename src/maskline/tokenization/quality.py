"""How well a vocabulary fits a text."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from maskline.errors import UserError
from maskline.tokenization.encoding import ChunkEncoder
from maskline.tokenization.load import LoadedTokenizer


def measure(tokenizer: LoadedTokenizer, texts: Iterable[str]) -> dict[str, Any]:
    """Return the size of the vocabulary, and of `texts` the share of [UNK] and the tokens per word (fertility).

    Words are what whitespace separates, and the characters of the characters per token count it too.
    """
    encoder = ChunkEncoder(tokenizer.backend, np.dtype(np.uint32))
    tokens = unknown = words = characters = 0
    for text in texts:
        ids, _ = encoder.encode([text])
        tokens += len(ids)
        unknown += int(np.count_nonzero(ids == tokenizer.special.unk))
        words += len(text.split())
        characters += len(text)
    return {
        "vocab_size": tokenizer.vocab_size,
        "words": words,
        "tokens": tokens,
        "unk_rate": unknown / max(tokens, 1),
        "tokens_per_word": tokens / max(words, 1),
        "characters_per_token": characters / max(tokens, 1),
    }


def check_unk_rate(unk_rate: float, limit: float) -> None:
    """Refuse a vocabulary that says [UNK] too often.

    Raises:
        UserError: `unk_rate` is above `limit`.
    """
    if unk_rate > limit:
        raise UserError(
            f"{unk_rate:.2%} of the validation tokens are [UNK], above tokenizer.max_unk_rate {limit:.2%}: raise "
            "tokenizer.vocab_size or add articles, or else accept it by raising tokenizer.max_unk_rate"
        )
