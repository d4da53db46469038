"""positions: the training loop of the book "Dive into Deep Learning" (Zhang et al. 2023, ch. 15).

The MLM head runs at given positions. Their number is the same for every example; those added to reach it have weight 0.
Every example is padded to the greatest length. No kernel is fused: attention is two batched products and a softmax, and
AdamW updates one tensor at a time. The decoder is tied, as in the other models, but unlike in the book.
"""

# Dimensions: B batch, T sequence, D hidden, H heads, K = D / H, P predictions of an example.

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.peers.peer import Batch, Feature, Peer, Recipe
from benchmarks.peers.plain import Bert, Block
from maskline.core.labels import IGNORE_INDEX
from maskline.model.bert.settings import Settings
from maskline.settings.params import Params
from maskline.tokenization.load import SpecialIds


class Attention(nn.Module):
    """Multi-head attention, step by step."""

    def __init__(self, params: Settings) -> None:
        super().__init__()
        self.heads = params.heads
        self.query, self.key, self.value, self.out = (nn.Linear(params.hidden, params.hidden) for _ in range(4))
        self.dropout = nn.Dropout(params.dropout)

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        """Mix tokens: x (B, T, D), padding (B, T) bool, True = padding -> (B, T, D)."""
        q, k, v = (self._split(project(x)) for project in (self.query, self.key, self.value))
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[2])  # (B * H, T, T)
        scores = scores.masked_fill(padding.repeat_interleave(self.heads, 0)[:, None], -1e6)
        mixed = torch.bmm(self.dropout(F.softmax(scores, -1)), v)  # (B * H, T, K)
        B, T, _ = x.shape
        return self.out(mixed.view(B, self.heads, T, -1).transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def _split(self, x: Tensor) -> Tensor:
        """Split heads: (B, T, D) -> (B * H, T, K)."""
        B, T, _ = x.shape
        return x.view(B, T, self.heads, -1).transpose(1, 2).flatten(0, 1)


class StepwiseBlock(Block):
    """A layer of the encoder with the attention above."""

    def __init__(self, params: Settings) -> None:
        super().__init__(params)
        self.attention = Attention(params)  # type: ignore[assignment]

    def attend(self, x: Tensor, padding: Tensor) -> Tensor:
        """Mix tokens: x (B, T, D), padding (B, T) bool, True = padding -> (B, T, D)."""
        mixed: Tensor = self.attention(x, padding)
        return mixed


class Positions(Peer):
    """The book's loop."""

    def __init__(
        self, params: Params, vocab_size: int, special: SpecialIds, recipe: Recipe, device: torch.device
    ) -> None:
        assert isinstance(params.model, Settings), "the peers are BERT"
        self.bert = Bert(params.model, vocab_size, StepwiseBlock)
        self.masking = params.masking
        self.vocab_size = vocab_size
        self.special = special
        self.length = params.pretrain.max_seq_length
        self.predictions = round(self.length * params.masking.rate)
        super().__init__(self.bert, recipe, device, fused=None)

    def collate(self, features: Sequence[Feature]) -> Batch:
        """Mask round(rate * n) tokens of each example of n; pad examples and predictions to their fixed sizes."""
        size, length, predictions = len(features), self.length, self.predictions
        ids = torch.full((size, length), self.special.pad)
        types, lengths = torch.zeros_like(ids), torch.zeros(size, dtype=torch.long)
        positions = torch.zeros((size, predictions), dtype=torch.long)
        weights = torch.zeros((size, predictions))
        for row, feature in enumerate(features):
            own = torch.tensor(feature["input_ids"])
            lengths[row] = len(own)
            ids[row, : len(own)] = own
            types[row, : len(own)] = torch.tensor(feature["token_type_ids"])
            candidates = (torch.tensor(feature["special_tokens_mask"]) == 0).nonzero()[:, 0]
            count = min(predictions, max(1, round(self.masking.rate * len(own))))
            picked = candidates[torch.randperm(len(candidates))[:count]].sort().values
            positions[row, : len(picked)] = picked
            weights[row, : len(picked)] = 1.0
        labels = ids.gather(1, positions)
        return {
            "input_ids": ids.scatter(1, positions, self._shown(labels, weights, ids[:, :1])),
            "token_type_ids": types,
            "valid_lengths": lengths,
            "positions": positions,
            "weights": weights,
            "labels": labels,
            "next_sentence_label": torch.tensor([feature["next_sentence_label"] for feature in features]),
        }

    def _shown(self, labels: Tensor, weights: Tensor, first: Tensor) -> Tensor:
        """Return the masked ids for `labels`, (B, P); where the weight is 0, `first`, (B, 1)."""
        choice = torch.rand(labels.shape)
        random = torch.randint(self.vocab_size, labels.shape)
        shown = torch.where(choice < self.masking.mask + self.masking.random, random, labels)
        shown = torch.where(choice < self.masking.mask, self.special.mask, shown)
        return torch.where(weights == 0, first, shown)

    def loss(self, batch: Batch) -> Tensor:
        """Return the weighted cross-entropy of the predictions plus that of the pairs."""
        padding = torch.arange(self.length, device=self.device) >= batch["valid_lengths"][:, None]
        x = self.bert.hidden_states(batch["input_ids"], batch["token_type_ids"], padding)
        chosen = x.gather(1, batch["positions"][:, :, None].expand(-1, -1, x.shape[2]))  # (B, P, D)
        losses = F.cross_entropy(self.bert.predict(chosen).flatten(0, 1), batch["labels"].flatten(), reduction="none")
        weights = batch["weights"].flatten()
        nsp = F.cross_entropy(self.bert.classify(x), batch["next_sentence_label"], ignore_index=IGNORE_INDEX)
        return (losses * weights).sum() / weights.sum() + nsp
