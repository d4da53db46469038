"""The cross-entropy over a large vocabulary, computed for a piece of the vocabulary at a time.

The logits and their gradient are M x V numbers each: by far the largest arrays of a step, and moving them through
memory takes most of its time. Here the logits of one piece become unnormalized probabilities and are multiplied by the
piece's part of the decoder while they are in the cache. The running maximum is that of online softmax (Milakov &
Gimelshein 2018). Only the unnormalized probabilities are kept for the backward pass.
"""

# Dimensions: M masked tokens, D hidden, V vocabulary, C tokens of one piece of it.

from typing import Any

import torch
from torch import Tensor

PIECE = 8192
"""Tokens of a piece: for the M of a usual microbatch, (M, C) in bfloat16 fits into a cache of some megabytes."""
ROWS = 64
"""Rows that are summed at a time: (ROWS, C) in float32 fits into the same cache."""


def vocabulary_loss(hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor) -> Tensor:
    """Return the cross-entropy in nats of `hidden @ weight.T + bias`, summed over the M labels.

    Matrix products have the precision of the enclosing autocast; sums and the returned gradients are float32.

    Args:
        hidden: (M, D).
        weight: (V, D).
        bias: (V,).
        labels: (M,) integers below V.
    """
    device = hidden.device.type
    autocast = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    precision = torch.get_autocast_dtype(device) if autocast else weight.dtype
    loss: Tensor = _VocabularyLoss.apply(hidden, weight, bias, labels, precision)  # type: ignore[no-untyped-call]
    return loss


@torch.no_grad()
def vocabulary_scores(hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the same loss in float32, and how many of the M labels have the highest logit: of equal ones, the first.

    Nothing of size (M, V) is in memory; the arguments are those of `vocabulary_loss`.
    """
    highest = weight.new_full((len(hidden),), -torch.inf)  # (M,) the largest logit so far
    total = weight.new_zeros(len(hidden))  # (M,) sum of exp(logit - highest) so far
    of_label = weight.new_zeros(len(hidden))
    best = labels.new_full((len(hidden),), -1)  # (M,) the token with the largest logit so far
    for first in range(0, len(weight), PIECE):
        logits = torch.addmm(bias[first : first + PIECE], hidden, weight[first : first + PIECE].T)  # (M, C)
        place = labels - first
        inside = (place >= 0) & (place < logits.shape[1])
        picked = logits.gather(1, place.clamp(0, logits.shape[1] - 1)[:, None])[:, 0]
        of_label = torch.where(inside, picked, of_label)
        largest, token = logits.max(1)
        best = torch.where(largest > highest, token + first, best)
        higher = torch.maximum(highest, largest)
        total.mul_((highest - higher).exp_()).add_(logits.sub_(higher[:, None]).exp_().sum(1))
        highest = higher
    return (highest + total.log() - of_label).sum(), (best == labels).sum()


class _VocabularyLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, precision: torch.dtype
    ) -> Tensor:
        low, scored = hidden.to(precision), weight.to(precision)
        highest = weight.new_full((len(hidden),), -torch.inf)  # (M,) the largest logit so far
        total = weight.new_zeros(len(hidden))  # (M,) sum of exp(logit - highest) so far
        expected = weight.new_zeros(hidden.shape)  # (M, D) the sum of exp(logit - highest) * weight so far
        of_label = weight.new_zeros(len(hidden))  # (M,) the label's logit
        pieces = []
        for first in range(0, len(weight), PIECE):
            part = scored[first : first + PIECE]
            logits = torch.addmm(bias[first : first + PIECE].to(precision), low, part.T)  # (M, C)
            place = labels - first
            inside = (place >= 0) & (place < len(part))
            picked = logits.gather(1, place.clamp(0, len(part) - 1)[:, None])[:, 0].float()
            of_label = torch.where(inside, picked, of_label)
            higher = torch.maximum(highest, logits.amax(1).float())
            shrink = (highest - higher).exp_()
            likelihood = logits.sub_(higher[:, None].to(precision)).exp_()
            total.mul_(shrink).add_(_row_sums(likelihood, total.dtype))
            expected.mul_(shrink[:, None]).add_(likelihood @ part)
            highest = higher
            pieces.append((likelihood, higher))
        log_total = highest + total.log()
        # All through save_for_backward, whose tensors are freed after the backward pass: attributes of ctx would stay.
        kept = [tensor for piece in pieces for tensor in piece]
        ctx.save_for_backward(hidden, weight, labels, log_total, expected.div_(total[:, None]), *kept)
        return (log_total - of_label).sum()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        (grad,) = grad_outputs
        hidden, weight, labels, log_total, expected, *kept = ctx.saved_tensors
        of_hidden = (expected - weight.index_select(0, labels)) * grad
        of_weight, of_bias = torch.empty_like(weight), weight.new_empty(len(weight))
        for number, (likelihood, reference) in enumerate(zip(kept[::2], kept[1::2], strict=True)):
            part = slice(number * PIECE, (number + 1) * PIECE)
            normalize = (reference - log_total).exp_() * grad  # (M,) turns likelihoods into probabilities
            of_weight[part] = likelihood.T @ (hidden * normalize[:, None]).to(likelihood.dtype)
            of_bias[part] = normalize.to(likelihood.dtype) @ likelihood
        of_weight.index_add_(0, labels, (hidden * -grad).to(weight.dtype))
        of_bias.index_add_(0, labels, (-grad).expand(len(labels)))
        return of_hidden.to(hidden.dtype), of_weight, of_bias, None, None


def _row_sums(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the sum of each row of `values`, (M, C), in `dtype`: (M,)."""
    if values.device.type != "cpu":
        return values.sum(1, dtype=dtype)
    # On a CPU, `sum` first converts all of its input: writing that copy to memory took an eighth of a step.
    return torch.cat([rows.sum(1, dtype=dtype) for rows in torch.split(values, ROWS)])
