"""Texts as sequences of token ids, [CLS] text [SEP], one after the other without padding."""

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


@dataclass(frozen=True)
class EncodedTexts:
    """Texts as token ids."""

    input_ids: list[NDArray[np.int64]]
    cut: int
    """How many of the texts were longer than the model reads."""
    unk_rate: float
    """Share of [UNK] in the tokens that the model reads."""

    def __len__(self) -> int:
        return len(self.input_ids)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(N,) tokens of each text."""
        return np.array([len(ids) for ids in self.input_ids], np.int64)

    def packed(self, rows: NDArray[Any]) -> Packed:
        """Return the texts `rows` one after the other."""
        chosen = [self.input_ids[row] for row in rows]
        return Packed(np.concatenate(chosen), np.array([len(ids) for ids in chosen]))


def encode_texts(texts: list[str], tokenizer: LoadedTokenizer, max_seq_length: int) -> EncodedTexts:
    """Return `texts` as token ids, cut at the end to `max_seq_length` tokens with [CLS] and [SEP].

    A special token that is spelled out in a text, such as [SEP], is text: so it was in pretraining.
    """
    special, longest = tokenizer.special, max_seq_length - 2
    encodings = tokenizer.plain.encode_batch(texts, add_special_tokens=False)
    read = [encoding.ids[:longest] for encoding in encodings]
    unknown = sum(ids.count(special.unk) for ids in read)
    return EncodedTexts(
        input_ids=[np.array([special.cls, *ids, special.sep], np.int64) for ids in read],
        cut=sum(len(encoding.ids) > longest for encoding in encodings),
        unk_rate=unknown / max(1, sum(map(len, read))),
    )
