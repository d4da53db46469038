"""The ModernBERT encoder (Warner et al. 2024): embeddings, rotary positions, attention, layer, encoder.

Positions are rotations of queries and keys (Su et al. 2021), the feed-forward network is a GeGLU (Shazeer 2020),
LayerNorm comes before each part and once at the end, nothing has a bias, and there are no segments. In the first layer
attention reads the embeddings, which are normalized already. Every layer attends to the whole sequence: the paper's
local layers reach 64 tokens to either side.
"""

# Dimensions: B sequences, N tokens of them all, D hidden, H heads, K = D / H, F intermediate, V vocabulary.

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maskline.model import architecture
from maskline.model.attention import Layout, attention
from maskline.model.modernbert.settings import Settings

CUTOFF = 2.0
"""Deviations at which the normal distribution of initial weights is cut off, as in `transformers`."""


def layer_norm(params: Settings) -> nn.LayerNorm:
    """Return a LayerNorm without bias."""
    return nn.LayerNorm(params.hidden, params.layer_norm_eps, bias=False)


def linear(inputs: int, outputs: int) -> nn.Linear:
    """Return a matrix without bias."""
    return nn.Linear(inputs, outputs, bias=False)


class Embeddings(nn.Module):
    """Token embeddings, normalized."""

    def __init__(self, params: Settings, vocab_size: int) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, params.hidden)
        self.norm = layer_norm(params)
        self.dropout = nn.Dropout(params.dropout)

    def forward(self, input_ids: Tensor) -> Tensor:
        """Embed input_ids, (N,) integers -> (N, D)."""
        return self.dropout(self.norm(self.token(input_ids)))  # type: ignore[no-any-return]


class Rotation(nn.Module):
    """The angles by which queries and keys are turned (Su et al. 2021, sec. 3.2.2)."""

    frequency: Tensor

    def __init__(self, params: Settings) -> None:
        super().__init__()
        self.register_buffer("frequency", frequencies(params), persistent=False)

    def forward(self, layout: Layout) -> tuple[Tensor, Tensor]:
        """Return cosine and sine of each token's angles, (N, 1, 1, K / 2) float32 each."""
        angle = (layout.positions[:, None] * self.frequency)[:, None, None]
        return angle.cos(), angle.sin()


def frequencies(params: Settings) -> Tensor:
    """Return the angles from one place to the next, (K / 2,)."""
    size = params.hidden // params.heads
    return 1.0 / params.rope_theta ** (torch.arange(0, size, 2) / size)


class _Rotate(torch.autograd.Function):
    """Turn queries and keys; the gradient is turned back. Autograd would keep and add up many parts of `qkv`."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _turned(qkv, cos, sin)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return _turned(grad_outputs[0], cos, -sin), None, None


def _turned(qkv: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Return (N, 3, H, K) with the queries and keys turned: number i of a head and number i + K / 2 are a point."""
    x, y = qkv[:, :2].float().chunk(2, -1)
    turned = torch.cat([x * cos - y * sin, y * cos + x * sin], -1).to(qkv.dtype)
    return torch.cat([turned, qkv[:, 2:]], 1)


class SelfAttention(nn.Module):
    """Bidirectional multi-head attention with rotary positions."""

    def __init__(self, params: Settings) -> None:
        super().__init__()
        self.heads = params.heads
        self.dropout = params.dropout
        self.qkv = linear(params.hidden, 3 * params.hidden)
        self.out = linear(params.hidden, params.hidden)

    def forward(self, x: Tensor, layout: Layout, rotation: tuple[Tensor, Tensor]) -> Tensor:
        """Mix the tokens of each sequence: x (N, D) -> (N, D)."""
        N, D = x.shape
        qkv: Tensor = _Rotate.apply(self.qkv(x).view(N, 3, self.heads, D // self.heads), *rotation)  # type: ignore[no-untyped-call]
        dropout = self.dropout if self.training else 0.0
        return self.out(attention(qkv, layout, dropout).reshape(N, D))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Attention and a gated feed-forward network, each of its normalized input, to which it is added."""

    def __init__(self, params: Settings, *, first: bool) -> None:
        super().__init__()
        self.attention_norm = nn.Identity() if first else layer_norm(params)
        self.attention = SelfAttention(params)
        self.attention_dropout = nn.Dropout(params.dropout)
        self.feed_forward_norm = layer_norm(params)
        self.up = linear(params.hidden, 2 * params.intermediate)
        self.dropout = nn.Dropout(params.dropout)
        self.down = linear(params.intermediate, params.hidden)

    def forward(self, x: Tensor, layout: Layout, rotation: tuple[Tensor, Tensor]) -> Tensor:
        """Transform x (N, D) -> (N, D)."""
        x = x + self.attention_dropout(self.attention(self.attention_norm(x), layout, rotation))
        value, gate = self.up(self.feed_forward_norm(x)).chunk(2, -1)
        return x + self.down(self.dropout(F.gelu(value) * gate))  # type: ignore[no-any-return]


class Encoder(architecture.Encoder):
    """Embeddings, a stack of layers, and a last LayerNorm."""

    params: Settings

    def __init__(self, params: Settings, vocab_size: int) -> None:
        super().__init__()
        self.params = params
        self.vocab_size = vocab_size
        self.embeddings = Embeddings(params, vocab_size)
        self.rotation = Rotation(params)
        self.layers = nn.ModuleList(Layer(params, first=number == 0) for number in range(params.layers))
        self.norm = layer_norm(params)

    @property
    def token_embedding(self) -> nn.Embedding:
        """Return the embedding of tokens."""
        return self.embeddings.token

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, layout: Layout) -> Tensor:  # noqa: ARG002  # no segments
        """Encode a packed batch: (N,) integers -> (N, D); what segment a token is in makes no difference."""
        x = self.embeddings(input_ids)
        rotation = self.rotation(layout)
        for layer in self.layers:
            x = layer(x, layout, rotation)
        return self.norm(x)  # type: ignore[no-any-return]

    def pool(self, x: Tensor, layout: Layout) -> Tensor:
        """Return the [CLS] token of each sequence as it is: (N, D) -> (B, D)."""
        return x.index_select(0, layout.starts)

    def stacks(self) -> Iterator[tuple[Tensor, int]]:
        """Yield the matrices of query, key and value, and those of value and gate."""
        for part in self.modules():
            if isinstance(part, SelfAttention):
                yield part.qkv.weight, 3
            if isinstance(part, Layer):
                yield part.up.weight, 2


def initialize(module: nn.Module, params: Settings, generator: torch.Generator) -> None:
    """Draw initial weights in place, as `transformers` does: from a normal distribution that is cut off.

    What is added to the residual stream, and the dense layer of a head, is smaller by the root of twice the layers; the
    classifier of a task has the deviation that keeps the size of its input. Biases are 0, LayerNorm weights 1.

    Where `params` says so, some heads look at a place beside their token from the first step on: not as published.
    """
    small = params.initializer_range / math.sqrt(2 * params.layers)
    for name, part in module.named_modules():
        last = name.rpartition(".")[2]
        if isinstance(part, nn.Embedding):
            _draw(part.weight, params.initializer_range, generator)
        elif isinstance(part, nn.Linear):
            if last in {"classifier", "qa_outputs"}:
                _draw(part.weight, params.hidden**-0.5, generator)
            elif last != "decoder":  # which is the embedding
                _draw(part.weight, small if last in {"out", "down", "dense"} else params.initializer_range, generator)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.LayerNorm):
            nn.init.ones_(part.weight)
    if params.neighbour_heads:
        _look_beside(module, params, generator)


@torch.no_grad()
def _look_beside(module: nn.Module, params: Settings, generator: torch.Generator) -> None:
    """Let the first heads of every layer look at the place before their token, the one after, two before and so on.

    Without biases a key says where it is only by what all tokens have in common. So half of every embedding, in squared
    length, becomes the same vector, which adds the same to all logits of a tied decoder. The keys of these heads hold
    it, and their queries are their keys, turned by so many places.
    """
    common = torch.randn(params.hidden, generator=generator)
    common -= common.mean()  # which LayerNorm takes away
    common /= common.norm()
    size = params.hidden // params.heads
    response = (params.neighbour_score / size**0.5) ** 0.5  # of each number of a key: squared and summed, the score
    for part in module.modules():
        if isinstance(part, Embeddings):
            part.token.weight += part.token.weight.norm(dim=1).mean() * common
        if isinstance(part, SelfAttention):
            query, key, _ = part.qkv.weight.chunk(3)
            for head in range(params.neighbour_heads):
                rows = slice(head * size, (head + 1) * size)
                key[rows] += response * common / (params.hidden / 2) ** 0.5
                offset = (head // 2 + 1) * (1 if head % 2 else -1)
                query[rows] = turned_by(offset, key[rows], params)


def turned_by(places: int, keys: Tensor, params: Settings) -> Tensor:
    """Return the rows of a head, (K, D), whose outputs are those of `keys` so many places further on."""
    angle = (places * frequencies(params))[:, None]
    x, y = keys.chunk(2)
    return torch.cat([x * angle.cos() - y * angle.sin(), y * angle.cos() + x * angle.sin()])


def _draw(weight: Tensor, deviation: float, generator: torch.Generator) -> None:
    edge = CUTOFF * deviation
    nn.init.trunc_normal_(weight, std=deviation, a=-edge, b=edge, generator=generator)
