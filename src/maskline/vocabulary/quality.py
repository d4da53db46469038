"""How well a vocabulary fits a text."""

from collections import Counter
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
    """Return the size of the vocabulary, and for `texts` the shares of [UNK], tokens per word and characters per token.

    Tokens per word are also called fertility. Words are separated by whitespace, so Chinese, Japanese and Thai have few
    and the number means little there. [UNK] is counted twice: as a share of the tokens, and as the share of the
    characters but whitespace that it stands for, as one may stand for a hundred. Whitespace counts in characters per
    token.
    """
    encoder = ChunkEncoder(tokenizer.backend, np.dtype(np.uint32))
    unk = tokenizer.special.unk
    tokens = unknown = words = characters = visible = 0
    with_unknown: Counter[str] = Counter()
    for text in texts:
        chunks = text.split()
        ids, lengths = encoder.encode(chunks)
        is_unknown = ids == unk
        if is_unknown.any():
            chunk = np.repeat(np.arange(len(chunks)), lengths)
            with_unknown.update(chunks[number] for number in np.unique(chunk[is_unknown]))
        tokens += len(ids)
        unknown += int(np.count_nonzero(is_unknown))
        words += len(chunks)
        characters += len(text)
        visible += sum(map(len, chunks))
    lost = sum(count * _lost(tokenizer, chunk) for chunk, count in with_unknown.items())
    return {
        "vocab_size": tokenizer.vocab_size,
        "words": words,
        "tokens": tokens,
        "unk_rate": unknown / max(tokens, 1),
        "unk_character_rate": lost / max(visible, 1),
        "tokens_per_word": tokens / max(words, 1),
        "characters_per_token": characters / max(tokens, 1),
    }


def _lost(tokenizer: LoadedTokenizer, chunk: str) -> int:
    """Return how many characters of `chunk` are in [UNK]."""
    encoding = tokenizer.plain.encode(chunk, add_special_tokens=False)
    return sum(
        end - start
        for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
        if number == tokenizer.special.unk
    )


def check_quality(metrics: dict[str, Any], params: TokenizerParams, language: str) -> None:
    """Check the vocabulary by the `metrics` of `measure`.

    Raises:
        UserError: there is no token, [UNK] is a share of more than `params.max_unk_rate` of the tokens or of the
            characters, or there are more than `params.max_fertility` tokens per word.
    """
    if not metrics["tokens"]:
        raise UserError("the validation split has no token to measure the vocabulary on: add articles")
    way_out = (
        "take the tokenizer of another model, or add pieces to it (tokenizer.extend)"
        if params.kind == "pretrained"
        else "raise tokenizer.vocab_size or add articles"
    )
    tokens, characters = metrics["unk_rate"], metrics["unk_character_rate"]
    if max(tokens, characters) > params.max_unk_rate:
        raise UserError(
            f"{tokens:.2%} of the {metrics['tokens']:,} validation tokens are [UNK], and {characters:.2%} of the "
            f"characters, above tokenizer.max_unk_rate {params.max_unk_rate:.2%}: {way_out}, or else accept it by "
            "raising tokenizer.max_unk_rate"
        )
    spaced = language.partition("-")[0] not in UNSPACED
    if spaced and params.max_fertility is not None and metrics["tokens_per_word"] > params.max_fertility:
        raise UserError(
            f"the validation split has {metrics['tokens_per_word']:.2f} tokens per word, above tokenizer.max_fertility "
            f"{params.max_fertility:g}: {way_out}, or else accept it by raising tokenizer.max_fertility"
        )
