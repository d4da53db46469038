"""The BERT encoder (Devlin et al. 2019): embeddings, attention, layer, encoder.

The architecture is the original one: learned positions, LayerNorm after each residual sum, biases everywhere. Only the
initial weights may differ (see `initialize`).
"""

# Dimensions: B sequences, N tokens of them all, D hidden, H heads, K = D / H, F intermediate, V vocabulary.

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from maskline.model import architecture
from maskline.model.attention import Layout, attention
from maskline.model.bert.settings import Settings

ACTIVATIONS = {"gelu": nn.GELU(), "gelu_tanh": nn.GELU(approximate="tanh"), "relu": nn.ReLU()}
SEGMENTS = 2


class Embeddings(nn.Module):
    """Sum of token, position and segment embeddings, normalized."""

    def __init__(self, params: Settings, vocab_size: int) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, params.hidden)
        self.position = nn.Embedding(params.max_positions, params.hidden)
        self.segment = nn.Embedding(SEGMENTS, params.hidden)
        self.norm = nn.LayerNorm(params.hidden, params.layer_norm_eps)
        self.dropout = nn.Dropout(params.dropout)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, layout: Layout) -> Tensor:
        """Embed input_ids and token_type_ids, both (N,) integers -> (N, D)."""
        x = self.token(input_ids) + self.segment(token_type_ids) + self.position(layout.positions)
        return self.dropout(self.norm(x))  # type: ignore[no-any-return]


class SelfAttention(nn.Module):
    """Bidirectional multi-head attention (Vaswani et al. 2017, sec. 3.2)."""

    def __init__(self, params: Settings) -> None:
        super().__init__()
        self.heads = params.heads
        self.dropout = params.dropout
        self.qkv = nn.Linear(params.hidden, 3 * params.hidden)
        self.out = nn.Linear(params.hidden, params.hidden)

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        """Mix the tokens of each sequence: x (N, D) -> (N, D)."""
        N, D = x.shape
        qkv = self.qkv(x).view(N, 3, self.heads, D // self.heads)
        dropout = self.dropout if self.training else 0.0
        return self.out(attention(qkv, layout, dropout).reshape(N, D))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Attention and a feed-forward network, each added to its input and normalized."""

    def __init__(self, params: Settings) -> None:
        super().__init__()
        self.attention = SelfAttention(params)
        self.attention_norm = nn.LayerNorm(params.hidden, params.layer_norm_eps)
        self.up = nn.Linear(params.hidden, params.intermediate)
        self.activation = ACTIVATIONS[params.activation]
        self.down = nn.Linear(params.intermediate, params.hidden)
        self.output_norm = nn.LayerNorm(params.hidden, params.layer_norm_eps)
        self.dropout = nn.Dropout(params.dropout)

    def forward(self, x: Tensor, layout: Layout) -> Tensor:
        """Transform x (N, D) -> (N, D)."""
        x = self.attention_norm(x + self.dropout(self.attention(x, layout)))
        return self.output_norm(x + self.dropout(self.down(self.activation(self.up(x)))))  # type: ignore[no-any-return]


class Encoder(architecture.Encoder):
    """Embeddings, a stack of layers, and the tanh pooler over [CLS]."""

    params: Settings

    def __init__(self, params: Settings, vocab_size: int) -> None:
        super().__init__()
        self.params = params
        self.vocab_size = vocab_size
        self.embeddings = Embeddings(params, vocab_size)
        self.layers = nn.ModuleList(Layer(params) for _ in range(params.layers))
        self.pooler = nn.Linear(params.hidden, params.hidden)

    @property
    def token_embedding(self) -> nn.Embedding:
        """Return the embedding of tokens."""
        return self.embeddings.token

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, layout: Layout) -> Tensor:
        """Encode a packed batch: (N,) integers, each -> (N, D)."""
        x = self.embeddings(input_ids, token_type_ids, layout)
        for layer in self.layers:
            x = layer(x, layout)
        return x  # type: ignore[no-any-return]

    def pool(self, x: Tensor, layout: Layout) -> Tensor:
        """Pool encoded sequences by their [CLS] token: (N, D) -> (B, D)."""
        return torch.tanh(self.pooler(x.index_select(0, layout.starts)))

    def stacks(self) -> Iterator[tuple[Tensor, int]]:
        """Yield the matrices of query, key and value."""
        for part in self.modules():
            if isinstance(part, SelfAttention):
                yield part.qkv.weight, 3


def initialize(module: nn.Module, params: Settings, generator: torch.Generator) -> None:
    """Draw initial weights in place: matrices and embeddings from a normal distribution, biases 0, LayerNorm weights 1.

    Unlike BERT, and only where `params` says so, position embeddings start as sinusoids, and in some heads the key
    weights start equal to the query weights. These heads attend to near and similar tokens from the first step.
    """
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=params.initializer_range, generator=generator)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
        if isinstance(part, nn.LayerNorm):
            nn.init.ones_(part.weight)
            nn.init.zeros_(part.bias)
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, Embeddings) and params.position_init == "sinusoidal":
                start = sinusoids(params.max_positions, params.hidden, params.position_base)
                part.position.weight.copy_(params.position_scale * start)
            if isinstance(part, SelfAttention):
                rows = params.matched_heads * params.hidden // params.heads
                query, key, _ = part.qkv.weight.chunk(3)
                # With this deviation a similar token weighs a few times as much as another.
                query[:rows].normal_(std=0.5 * params.hidden**-0.5, generator=generator)
                key[:rows] = query[:rows]


def sinusoids(positions: int, hidden: int, base: float) -> Tensor:
    """Return sines and cosines of geometrically spaced wavelengths, (positions, D) (Vaswani et al. 2017, sec. 3.5)."""
    frequency = torch.exp(torch.arange(0, hidden, 2) * (-math.log(base) / hidden))
    angle = torch.arange(positions)[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], 2).flatten(1)[:, :hidden]
