"""Attention within each sequence of a packed batch: sequences one after the other, without padding.

All other layers work on single tokens, so only attention needs to know where a sequence begins. The device decides how
attention is computed, not what is computed (LOG.md has the cost of each way).
"""

# Dimensions: B sequences, N tokens of them all, T tokens of the longest, H heads, K size of a head.

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention.varlen import varlen_attn


@dataclass(frozen=True)
class Layout:
    """Where B sequences lie in a packed batch of N tokens, and how to pad it to (B, T) and pack it again."""

    longest: int
    """T, the tokens of the longest sequence."""
    starts: Tensor
    """(B,) index of the first token of each sequence."""
    bounds: Tensor
    """(B + 1,) int32: `starts`, and N."""
    positions: Tensor
    """(N,) each token's position in its sequence."""
    pad_index: Tensor
    """(B * T,) index of the token for each place of the padded batch; at padding, of the sequence's last token."""
    pack_index: Tensor
    """(N,) place of each token in the flattened padded batch."""
    attention_mask: Tensor | None
    """(B, T) True where the padded batch has a token; None where it has no padding."""

    @classmethod
    def of(cls, lengths: Tensor) -> Self:
        """Return the layout of sequences with `lengths`, (B,) integers on the CPU, each at least 1."""
        assert (lengths > 0).all(), "a sequence without tokens has no [CLS] to stand for it"
        longest = int(lengths.max())
        ends = lengths.cumsum(0)
        starts = ends - lengths
        places = torch.arange(longest)
        mask = places < lengths[:, None]
        return cls(
            longest=longest,
            starts=starts,
            bounds=F.pad(ends, (1, 0)).int(),
            positions=places.expand_as(mask)[mask],
            pad_index=(starts[:, None] + torch.minimum(places, lengths[:, None] - 1)).flatten(),
            pack_index=mask.flatten().nonzero()[:, 0],
            attention_mask=None if mask.all() else mask,
        )

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """Return this layout with `function` applied to every tensor, to move it to a device, say."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        mapped: dict[str, Any] = {n: function(v) if isinstance(v, Tensor) else v for n, v in values.items()}
        return type(self)(**mapped)


def attention(qkv: Tensor, layout: Layout, dropout: float) -> Tensor:
    """Return scaled dot-product attention (Vaswani et al. 2017, sec. 3.2.1) within each sequence.

    Args:
        qkv: (N, 3, H, K) queries, keys and values.
        layout: where the sequences lie.
        dropout: the probability that a weight is dropped.

    Returns:
        (N, H, K), in the precision of `qkv`.
    """
    if qkv.is_cuda and qkv.dtype in {torch.float16, torch.bfloat16} and not dropout:
        # Flash attention takes a packed batch as it is; it supports neither float32 nor dropout.
        q, k, v = qkv.unbind(1)
        y = varlen_attn(q, k, v, layout.bounds, layout.bounds, layout.longest, layout.longest)
        assert isinstance(y, Tensor)
        return y
    N, _, H, K = qkv.shape
    padded = qkv.flatten(1).index_select(0, layout.pad_index).view(-1, layout.longest, 3, H, K)
    q, k, v = padded.permute(2, 0, 3, 1, 4)  # (B, H, T, K) each
    attend = _attention_by_products if qkv.device.type == "cpu" else F.scaled_dot_product_attention
    mask = None if layout.attention_mask is None else layout.attention_mask[:, None, None, :]
    y = attend(q, k, v, attn_mask=mask, dropout_p=dropout)
    return y.transpose(1, 2).reshape(-1, H * K).index_select(0, layout.pack_index).view(N, H, K)


def _attention_by_products(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, dropout_p: float) -> Tensor:
    """Return what `F.scaled_dot_product_attention` returns, (B, H, T, K), computed by matrix products.

    On a CPU it is faster: at about a hundred tokens, the fused kernel takes 1.5 times as long in float32 and four times
    as long in bfloat16, forward and backward together (LOG.md).
    """
    B, H, T, K = q.shape
    q, k, v = (part.reshape(B * H, T, K) for part in (q, k, v))
    if attn_mask is None:
        scores = torch.bmm(q, k.mT) * K**-0.5
    else:
        bias = torch.zeros_like(attn_mask, dtype=q.dtype).masked_fill_(~attn_mask, -torch.inf)
        scores = torch.baddbmm(bias.expand(B, H, 1, T).reshape(B * H, 1, T), q, k.mT, alpha=K**-0.5)
    weights = F.dropout(scores.softmax(-1), dropout_p)
    return torch.bmm(weights, v).view(B, H, T, K)
