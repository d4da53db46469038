"""Attention within each of several sequences that stand one after the other, without padding.

Everything but attention works on single tokens, so only attention has to know where a sequence begins. How it is
computed depends on the device; what is computed does not (LOG.md has what each way costs).
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
    """Where B sequences lie among N tokens."""

    longest: int
    """T."""
    starts: Tensor
    """(B,) where each sequence begins."""
    bounds: Tensor
    """(B + 1,) int32: the same, and N."""
    positions: Tensor
    """(N,) each token's place in its sequence."""
    gather: Tensor
    """(B * T,) which token to put into each place of a padded batch; some token of the sequence where there is none."""
    slots: Tensor
    """(N,) where each token stands in the padded batch."""
    attend: Tensor | None
    """(B, T) True where the padded batch holds a token; None where it has no padding."""

    @classmethod
    def of(cls, lengths: Tensor) -> Self:
        """Return the layout of sequences of `lengths`, (B,) integers on the CPU, each at least 1."""
        assert (lengths > 0).all(), "a sequence without tokens has no [CLS] to stand for it"
        longest = int(lengths.max())
        ends = lengths.cumsum(0)
        starts = ends - lengths
        places = torch.arange(longest)
        attend = places < lengths[:, None]
        return cls(
            longest=longest,
            starts=starts,
            bounds=F.pad(ends, (1, 0)).int(),
            positions=places.expand_as(attend)[attend],
            gather=(starts[:, None] + torch.minimum(places, lengths[:, None] - 1)).flatten(),
            slots=attend.flatten().nonzero()[:, 0],
            attend=None if attend.all() else attend,
        )

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """Return the same with every tensor as `function` makes it, on another device say."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        mapped: dict[str, Any] = {n: function(v) if isinstance(v, Tensor) else v for n, v in values.items()}
        return type(self)(**mapped)


def attention(qkv: Tensor, layout: Layout, dropout: float) -> Tensor:
    """Return scaled dot-product attention (Vaswani et al. 2017, sec. 3.2.1) within each sequence.

    Args:
        qkv: (N, 3, H, K) queries, keys and values.
        layout: where the sequences lie.
        dropout: the probability with which a weight is dropped.

    Returns:
        (N, H, K), in the precision of `qkv`.
    """
    if qkv.is_cuda and qkv.dtype in {torch.float16, torch.bfloat16} and not dropout:
        # Flash attention over sequences of different lengths; it knows neither float32 nor dropout.
        q, k, v = qkv.unbind(1)
        y = varlen_attn(q, k, v, layout.bounds, layout.bounds, layout.longest, layout.longest)
        assert isinstance(y, Tensor)
        return y
    N, _, H, K = qkv.shape
    padded = qkv.flatten(1).index_select(0, layout.gather).view(-1, layout.longest, 3, H, K)
    q, k, v = padded.permute(2, 0, 3, 1, 4)  # (B, H, T, K) each
    mix = _by_products if qkv.device.type == "cpu" else F.scaled_dot_product_attention
    mask = None if layout.attend is None else layout.attend[:, None, None, :]
    y = mix(q, k, v, attn_mask=mask, dropout_p=dropout)
    return y.transpose(1, 2).reshape(-1, H * K).index_select(0, layout.slots).view(N, H, K)


def _by_products(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, dropout_p: float) -> Tensor:
    """Do what `F.scaled_dot_product_attention` does, from (B, H, T, K), by plain products.

    On a CPU the fused kernel takes half as long again in float32, and four times as long in bfloat16, forward and
    backward together, at lengths of about a hundred tokens (LOG.md).
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
