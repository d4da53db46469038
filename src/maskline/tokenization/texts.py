"""Texts as sequences of token ids, [CLS] text [SEP] or [CLS] a [SEP] b [SEP], one after the other without padding."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.tokenization.load import LoadedTokenizer


@dataclass(frozen=True)
class Packed:
    """B sequences, one after the other without padding."""

    input_ids: NDArray[np.int64]
    """(N,) of them all."""
    lengths: NDArray[np.int64]
    """(B,) tokens of each sequence."""
    token_type_ids: NDArray[np.int64]
    """(N,) 0, and 1 for b [SEP] of a pair."""


@dataclass(frozen=True)
class EncodedTexts:
    """Texts, or pairs of texts, as token ids."""

    input_ids: list[NDArray[np.int64]]
    cut: int
    """How many of the texts or pairs were longer than the model reads."""
    unk_rate: float
    """Share of [UNK] in the tokens that the model reads."""
    second_starts: NDArray[np.int64] | None = None
    """(N,) where the second text of each pair begins; None: single texts."""

    def __len__(self) -> int:
        return len(self.input_ids)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(N,) tokens of each text or pair."""
        return np.array([len(ids) for ids in self.input_ids], np.int64)

    def packed(self, rows: NDArray[Any]) -> Packed:
        """Return the texts or pairs `rows` one after the other."""
        chosen = [self.input_ids[row] for row in rows]
        input_ids, lengths = np.concatenate(chosen), np.array([len(ids) for ids in chosen])
        token_type_ids = np.zeros_like(input_ids)
        if self.second_starts is not None:
            begins = np.cumsum(lengths) - lengths + self.second_starts[rows]
            token_type_ids[np.arange(len(input_ids)) >= np.repeat(begins, lengths)] = 1
        return Packed(input_ids, lengths, token_type_ids)


def encode_texts(
    texts: list[str], tokenizer: LoadedTokenizer, max_seq_length: int, seconds: list[str] | None = None
) -> EncodedTexts:
    """Return `texts` as token ids, cut at the end to `max_seq_length` tokens with [CLS] and each [SEP].

    A special token that is spelled out in a text, such as [SEP], is text: so it was in pretraining.

    Args:
        texts: single texts, or the first ones of pairs.
        tokenizer: that of the model.
        max_seq_length: tokens, 3 or more.
        seconds: the second texts of pairs. Of a pair that is too long the longer text is cut, and where both are longer
            than a half, each is cut to a half, as `longest_first` does in `transformers`.
    """
    special = tokenizer.special
    encoded = [encoding.ids for encoding in tokenizer.plain.encode_batch(texts, add_special_tokens=False)]
    if seconds is None:
        longest = max_seq_length - 2
        read = [ids[:longest] for ids in encoded]
        input_ids = [np.array([special.cls, *ids, special.sep], np.int64) for ids in read]
        cut = sum(len(ids) > longest for ids in encoded)
        return EncodedTexts(input_ids, cut, _unk_rate(read, special.unk))
    longest = max_seq_length - 3
    pairs = list(
        zip(
            encoded,
            (encoding.ids for encoding in tokenizer.plain.encode_batch(seconds, add_special_tokens=False)),
            strict=True,
        )
    )
    kept = [_kept(len(a), len(b), longest) for a, b in pairs]
    read_pairs = [(a[:first], b[:second]) for (a, b), (first, second) in zip(pairs, kept, strict=True)]
    return EncodedTexts(
        [np.array([special.cls, *a, special.sep, *b, special.sep], np.int64) for a, b in read_pairs],
        sum(len(a) + len(b) > longest for a, b in pairs),
        _unk_rate([ids for pair in read_pairs for ids in pair], special.unk),
        np.array([len(a) + 2 for a, _ in read_pairs], np.int64),
    )


def _kept(first: int, second: int, longest: int) -> tuple[int, int]:
    """Return how many tokens are read of a pair of `first` and `second` tokens, at most `longest` in all."""
    if first + second <= longest:
        return first, second
    short = min(first, second, longest // 2)
    return (longest - short, short) if first > second else (short, longest - short)


def _unk_rate(read: list[list[int]], unk: int) -> float:
    return sum(ids.count(unk) for ids in read) / max(1, sum(map(len, read)))
