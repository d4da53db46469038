"""Text classification: one text, one class."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.examples.batches import by_length
from maskline.tokenization.load import LoadedTokenizer, SpecialIds


@dataclass(frozen=True)
class EncodedTexts:
    """Texts as token ids, [CLS] text [SEP]."""

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


@dataclass(frozen=True)
class TextBatch:
    """B texts of at most T tokens."""

    input_ids: NDArray[np.int64]
    """(B, T), padded with [PAD]."""
    attention_mask: NDArray[np.bool_]
    """(B, T) True = real token."""


def encode_texts(texts: list[str], tokenizer: LoadedTokenizer, max_seq_length: int) -> EncodedTexts:
    """Return `texts` as token ids, cut at the end to `max_seq_length` tokens with [CLS] and [SEP]."""
    special, longest = tokenizer.special, max_seq_length - 2
    encodings = tokenizer.backend.encode_batch(texts, add_special_tokens=False)
    read = [encoding.ids[:longest] for encoding in encodings]
    unknown = sum(ids.count(special.unk) for ids in read)
    return EncodedTexts(
        input_ids=[np.array([special.cls, *ids, special.sep], np.int64) for ids in read],
        cut=sum(len(encoding.ids) > longest for encoding in encodings),
        unk_rate=unknown / max(1, sum(map(len, read))),
    )


def text_batch(encoded: EncodedTexts, rows: NDArray[Any], special: SpecialIds) -> TextBatch:
    """Return the texts `rows` as one padded batch."""
    chosen = [encoded.input_ids[row] for row in rows]
    sizes = np.array([len(ids) for ids in chosen])
    attention_mask = np.arange(sizes.max()) < sizes[:, None]
    input_ids = np.full(attention_mask.shape, special.pad)
    input_ids[attention_mask] = np.concatenate(chosen)
    return TextBatch(input_ids, attention_mask)


def text_batches(
    encoded: EncodedTexts, size: int, special: SpecialIds
) -> Iterator[tuple[NDArray[np.int64], TextBatch]]:
    """Yield (rows, batch) over all texts, `size` of nearly one length at a time."""
    for rows in by_length(encoded.sizes, size):
        yield rows, text_batch(encoded, rows, special)
