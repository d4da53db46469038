"""Texts as vectors, for search, clustering or a probe on top; and each of their tokens."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskline.core.errors import UserError
from maskline.examples.batches import by_length
from maskline.inference.typed import encode_typed
from maskline.model.architecture import Encoder
from maskline.model.inputs import layout_of, move
from maskline.model.modes import evaluating
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import encode_texts

BATCH_TOKENS = 2048
"""What is encoded at once, unless one text alone is longer: it fills the cores, and little memory is needed."""

Pooling = Literal["cls", "mean"]


@dataclass(frozen=True)
class Embedded:
    """Texts as vectors."""

    vectors: NDArray[np.float32]
    """(N, D), in the order of the texts."""
    cut: int
    """How many of the texts were longer than the model reads, and are known by their beginning."""
    unk_rate: float
    """Share of [UNK] in the tokens that the model reads."""


@dataclass(frozen=True)
class TokenVectors:
    """The T tokens of a text or a pair, the special ones included."""

    tokens: list[str]
    input_ids: NDArray[np.int64]
    """(T,)"""
    token_type_ids: NDArray[np.int64]
    """(T,) 0, and 1 for the second text of a pair."""
    vectors: NDArray[np.float32]
    """(T, D) the last layer's output; the first row, that of [CLS], stands for the whole."""


@torch.inference_mode()
def token_vectors(
    encoder: Encoder, tokenizer: LoadedTokenizer, text: str, second: str | None, device: torch.device
) -> TokenVectors:
    """Return the tokens of a text, or of a pair, and their vectors, in float32 and without dropout.

    Raises:
        UserError: a text has no token, they are longer than the model reads, or came as bytes that are not UTF-8.
    """
    encoding = encode_typed(tokenizer, encoder.params.max_positions, text, second)
    sequences = set(encoding.sequence_ids)
    for number, name in enumerate(["text"] if second is None else ["first text", "second text"]):
        if number not in sequences:
            raise UserError(f'the {name} has no token: give one, as in "a crane is flying"')
    ids, types = np.array(encoding.ids, np.int64), np.array(encoding.type_ids, np.int64)
    with evaluating(encoder):
        x = encoder(move(ids, device), move(types, device), layout_of(np.array([len(ids)]), device))
    return TokenVectors([tokenizer.pieces[token] for token in ids], ids, types, x.cpu().numpy())


@torch.inference_mode()
def embed(
    encoder: Encoder,
    tokenizer: LoadedTokenizer,
    texts: list[str],
    device: torch.device,
    pooling: Pooling = "mean",
    batch_tokens: int = BATCH_TOKENS,
) -> Embedded:
    """Return the vectors of `texts`, in float32 and without dropout.

    A vector is the last layer's output at [CLS], or the mean of it over all tokens of the text, [CLS] and [SEP]
    included; so an empty text has one too. It does not depend, but for rounding, on the texts around it.

    Args:
        encoder: the model, on `device`.
        tokenizer: what it was trained with.
        texts: any number; those longer than `max_positions` tokens are cut at the end.
        device: where to compute.
        pooling: what stands for a text.
        batch_tokens: the most that are encoded at once; a longer text is encoded alone.
    """
    encoded = encode_texts(texts, tokenizer, encoder.params.max_positions)
    vectors = np.empty((len(texts), encoder.params.hidden), np.float32)
    with evaluating(encoder):
        for rows in by_length(encoded.sizes, batch_tokens):
            vectors[rows] = _pooled(encoder, [encoded.input_ids[row] for row in rows], pooling, device).cpu().numpy()
    return Embedded(vectors, encoded.cut, encoded.unk_rate)


def _pooled(encoder: Encoder, texts: list[NDArray[np.int64]], pooling: Pooling, device: torch.device) -> Tensor:
    """Return the vectors of a batch of texts as token ids, (B, D)."""
    lengths = np.array([len(ids) for ids in texts])
    layout = layout_of(lengths, device)
    input_ids = move(np.concatenate(texts), device)
    x = encoder(input_ids, torch.zeros_like(input_ids), layout)
    if pooling == "cls":
        return x.index_select(0, layout.starts)  # type: ignore[no-any-return]
    return torch.segment_reduce(x, "mean", lengths=move(lengths, device))
