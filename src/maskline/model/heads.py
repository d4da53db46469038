"""What stands on the encoder: masked language model, next-sentence prediction, classification."""

# Dimensions: B batch, T sequence, D hidden, V vocabulary, M masked tokens, C classes.

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maskline.model.bert import ACTIVATIONS, Encoder, initialize
from maskline.params import ModelParams

IGNORE_INDEX = -100


@dataclass(frozen=True)
class Inputs:
    """A batch on the device; the fields of `maskline.examples.batches.Batch`, `attention_mask` None without padding."""

    input_ids: Tensor
    token_type_ids: Tensor
    attention_mask: Tensor | None
    masked_positions: Tensor
    masked_labels: Tensor
    next_sentence_label: Tensor


class MaskedLanguageModelHead(nn.Module):
    """A transform and a decoder whose weight is the token embedding (Devlin et al. 2019, appendix A.2)."""

    def __init__(self, params: ModelParams, embedding: nn.Embedding) -> None:
        super().__init__()
        self.transform = nn.Linear(params.hidden, params.hidden)
        self.activation = ACTIVATIONS[params.activation]
        self.norm = nn.LayerNorm(params.hidden, params.layer_norm_eps)
        self.decoder = nn.Linear(params.hidden, embedding.num_embeddings)
        self.decoder.weight = embedding.weight

    def forward(self, x: Tensor) -> Tensor:
        """Score the vocabulary for encoded tokens: (M, D) -> (M, V) logits."""
        return self.decoder(self.norm(self.activation(self.transform(x))))  # type: ignore[no-any-return]


class PretrainingModel(nn.Module):
    """The encoder with both pretraining heads."""

    def __init__(self, params: ModelParams, vocab_size: int) -> None:
        super().__init__()
        self.encoder = Encoder(params, vocab_size)
        self.mlm = MaskedLanguageModelHead(params, self.encoder.embeddings.token)
        self.nsp = nn.Linear(params.hidden, 2)

    def reset(self, generator: torch.Generator) -> None:
        """Draw initial weights."""
        initialize(self, self.encoder.params, generator)

    def forward(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Return the logits of the masked tokens, (M, V), and of the sentence pairs, (B, 2)."""
        x = self.encoder(inputs.input_ids, inputs.token_type_ids, inputs.attention_mask)
        masked = x.flatten(0, 1).index_select(0, inputs.masked_positions)  # no logits where there is nothing to predict
        return self.mlm(masked), self.nsp(self.encoder.pool(x))


def pretraining_losses(mlm_logits: Tensor, nsp_logits: Tensor, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy in nats, summed over masked tokens and over labelled pairs; 0 where there are none."""
    mlm = F.cross_entropy(mlm_logits.float(), inputs.masked_labels, reduction="sum")
    nsp = F.cross_entropy(nsp_logits.float(), inputs.next_sentence_label, reduction="sum", ignore_index=IGNORE_INDEX)
    return mlm, nsp


class ClassificationModel(nn.Module):
    """The encoder with a linear classifier over the pooled [CLS] (Devlin et al. 2019, sec. 4.1)."""

    def __init__(self, params: ModelParams, vocab_size: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.encoder = Encoder(params, vocab_size)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(params.hidden, classes)

    def reset(self, generator: torch.Generator) -> None:
        """Draw initial weights."""
        initialize(self, self.encoder.params, generator)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
        """Score the classes for sequences, arguments as for `Encoder`: -> (B, C) logits."""
        x = self.encoder(input_ids, token_type_ids, attention_mask)
        return self.classifier(self.dropout(self.encoder.pool(x)))  # type: ignore[no-any-return]
