"""Texts as vectors, for search, clustering or a probe on top; and each of their tokens."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from maskline.examples.batches import by_length
from maskline.finetuning.use import Graph, token_means
from maskline.inference.typed import encode_typed
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import Packed, encode_texts

if TYPE_CHECKING:
    import torch

    from maskline.model.architecture import Encoder

BATCH_TOKENS = 2048
"""What is encoded at once, unless one text alone is longer: it fills the cores, and little memory is needed."""

Pooling = Literal["cls", "mean"]


class Pooler(Protocol):
    """An encoder that gives texts vectors, whatever computes it."""

    @property
    def longest(self) -> int:
        """Return the most tokens that a text may have."""

    @property
    def dimensions(self) -> int:
        """Return D, the numbers of a vector."""

    def pooled(self, texts: Packed, pooling: Pooling) -> NDArray[np.float32]:
        """Return the vectors of a batch, (B, D), without dropout."""


@dataclass(frozen=True)
class TorchPooler:
    """An encoder on `device`."""

    encoder: "Encoder"
    device: "torch.device"

    @property
    def longest(self) -> int:
        """Return the most tokens that a text may have."""
        return self.encoder.params.max_positions

    @property
    def dimensions(self) -> int:
        """Return D."""
        return self.encoder.params.hidden

    def pooled(self, texts: Packed, pooling: Pooling) -> NDArray[np.float32]:
        """Return the vectors of a batch, (B, D)."""
        import torch

        from maskline.model.inputs import layout_of, move
        from maskline.model.modes import evaluating

        with torch.inference_mode(), evaluating(self.encoder):
            layout = layout_of(texts.lengths, self.device)
            x = self.encoder(move(texts.input_ids, self.device), move(texts.token_type_ids, self.device), layout)
            if pooling == "cls":
                return x.index_select(0, layout.starts).cpu().numpy()  # type: ignore[no-any-return]
            return torch.segment_reduce(x, "mean", lengths=move(texts.lengths, self.device)).cpu().numpy()


@dataclass(frozen=True)
class GraphPooler:
    """An encoder that is a graph."""

    graph: Graph

    @property
    def longest(self) -> int:
        """Return the most tokens that a text may have."""
        return self.graph.longest

    @property
    def dimensions(self) -> int:
        """Return D."""
        return int(self.graph.config["hidden_size"])

    def pooled(self, texts: Packed, pooling: Pooling) -> NDArray[np.float32]:
        """Return the vectors of a batch, (B, D)."""
        (states,) = self.graph.of_tokens(texts, "last_hidden_state")
        return (
            states[np.cumsum(texts.lengths) - texts.lengths] if pooling == "cls" else token_means(states, texts.lengths)
        )


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


def token_vectors(
    encoder: "Encoder", tokenizer: LoadedTokenizer, text: str, second: str | None, device: "torch.device"
) -> TokenVectors:
    """Return the tokens of a text, or of a pair, and their vectors, in float32 and without dropout.

    Raises:
        UserError: a text has no token, they are longer than the model reads, or came as bytes that are not UTF-8.
    """
    import torch

    from maskline.model.inputs import layout_of, move
    from maskline.model.modes import evaluating

    encoding = encode_typed(tokenizer, encoder.params.max_positions, text, second)
    ids, types = np.array(encoding.ids, np.int64), np.array(encoding.type_ids, np.int64)
    with torch.inference_mode(), evaluating(encoder):
        x = encoder(move(ids, device), move(types, device), layout_of(np.array([len(ids)]), device))
    return TokenVectors([tokenizer.pieces[token] for token in ids], ids, types, x.cpu().numpy())


def embed(
    encoder: "Encoder",
    tokenizer: LoadedTokenizer,
    texts: list[str],
    device: "torch.device",
    pooling: Pooling = "mean",
    batch_tokens: int = BATCH_TOKENS,
) -> Embedded:
    """Return the vectors of `texts` by an encoder on `device`; see `embed_by`."""
    return embed_by(TorchPooler(encoder, device), tokenizer, texts, pooling, batch_tokens)


def embed_by(
    model: Pooler,
    tokenizer: LoadedTokenizer,
    texts: list[str],
    pooling: Pooling = "mean",
    batch_tokens: int = BATCH_TOKENS,
) -> Embedded:
    """Return the vectors of `texts`, in float32 and without dropout.

    A vector is the last layer's output at [CLS], or the mean of it over all tokens of the text, [CLS] and [SEP]
    included; so an empty text has one too. It does not depend, but for rounding, on the texts around it.

    Args:
        model: what gives vectors.
        tokenizer: what it was trained with.
        texts: any number; those longer than the model reads are cut at the end.
        pooling: what stands for a text.
        batch_tokens: the most that are encoded at once; a longer text is encoded alone.
    """
    encoded = encode_texts(texts, tokenizer, model.longest)
    vectors = np.empty((len(texts), model.dimensions), np.float32)
    for rows in by_length(encoded.sizes, batch_tokens):
        vectors[rows] = model.pooled(encoded.packed(rows), pooling)
    return Embedded(vectors, encoded.cut, encoded.unk_rate)
