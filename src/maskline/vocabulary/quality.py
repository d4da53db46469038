"""How well a vocabulary fits a text."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from maskline.core.errors import UserError
from maskline.tokenization.encoding import ChunkEncoder
from maskline.tokenization.load import LoadedTokenizer
from maskline.vocabulary.settings import TokenizerParams

UNSPACED = frozenset(("bo", "dz", "ja", "km", "lo", "my", "th", "wuu", "yue", "zh"))
"""Languages without spaces between words, for which tokens per word mean nothing."""


def measure(tokenizer: LoadedTokenizer, texts: Iterable[str]) -> dict[str, Any]:
    """Return the size of the vocabulary, and for `texts` the share of [UNK], tokens per word and characters per token.

    Tokens per word are also called fertility. Words are separated by whitespace, so Chinese, Japanese and Thai have few
    and the number means little there. Whitespace counts as characters.
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


def check_quality(metrics: dict[str, Any], params: TokenizerParams, language: str) -> None:
    """Check the vocabulary by the `metrics` of `measure`.

    Raises:
        UserError: there is no token, a share of more than `params.max_unk_rate` of the tokens is [UNK], or there are
            more than `params.max_fertility` tokens per word.
    """
    if not metrics["tokens"]:
        raise UserError("the validation split has no token to measure the vocabulary on: add articles")
    way_out = (
        "take the tokenizer of another model, or add pieces to it (tokenizer.extend)"
        if params.kind == "pretrained"
        else "raise tokenizer.vocab_size or add articles"
    )
    if metrics["unk_rate"] > params.max_unk_rate:
        raise UserError(
            f"{metrics['unk_rate']:.2%} of the {metrics['tokens']:,} validation tokens are [UNK], above "
            f"tokenizer.max_unk_rate {params.max_unk_rate:.2%}: {way_out}, or else accept it by raising "
            "tokenizer.max_unk_rate"
        )
    spaced = language.partition("-")[0] not in UNSPACED
    if spaced and params.max_fertility is not None and metrics["tokens_per_word"] > params.max_fertility:
        raise UserError(
            f"the validation split has {metrics['tokens_per_word']:.2f} tokens per word, above tokenizer.max_fertility "
            f"{params.max_fertility:g}: {way_out}, or else accept it by raising tokenizer.max_fertility"
        )
