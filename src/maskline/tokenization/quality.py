"""How well a vocabulary fits a text."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from maskline.errors import UserError
from maskline.tokenization.encoding import ChunkEncoder
from maskline.tokenization.load import LoadedTokenizer


def measure(tokenizer: LoadedTokenizer, texts: Iterable[str]) -> dict[str, Any]:
    """Return size, share of [UNK] among the tokens, tokens per word (fertility) and characters per token.

    Words are what whitespace separates; characters include the whitespace.
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
        "unk_rate": unknown / max(tokens, 1),
        "tokens_per_word": tokens / max(words, 1),
        "characters_per_token": characters / max(tokens, 1),
    }


def check_unk_rate(unk_rate: float, limit: float) -> None:
    """Raise UserError where the share of [UNK] is above `limit`."""
    if unk_rate > limit:
        raise UserError(
            f"{unk_rate:.2%} of the validation tokens are [UNK], more than tokenizer.max_unk_rate {limit:.2%}: raise "
            "tokenizer.vocab_size, train on more text, or accept more with that key"
        )
