"""What stands on the encoder: a head of any kind, and those of pretraining (MLM and NSP)."""

# Dimensions: B sequences, N tokens of them all, D hidden, V vocabulary, M masked tokens.

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maskline.core.labels import IGNORE_INDEX
from maskline.model.architecture import Architecture, architecture_of
from maskline.model.attention import Layout
from maskline.model.settings import ModelParams
from maskline.model.vocabulary_loss import vocabulary_loss, vocabulary_scores


@dataclass(frozen=True)
class Inputs:
    """A packed batch on the device: B sequences one after the other, without padding."""

    input_ids: Tensor
    """(N,) token ids, masked."""
    token_type_ids: Tensor
    """(N,) 0 or 1."""
    layout: Layout
    masked_positions: Tensor
    """(M,) positions of the tokens to predict, each below N."""
    masked_labels: Tensor
    """(M,) the tokens to predict."""
    next_sentence_label: Tensor
    """(B,) 0 = is next, 1 = random, -100 = no pair."""


class EncoderModel(nn.Module):
    """An encoder with a head, which a subclass adds: what is trained, saved and loaded.

    A head has the name that it has in Hugging Face's class of the same purpose.
    """

    pooled = True
    """Whether the head reads the pooler."""
    purpose = "Model"
    """What the name of the class in `transformers` ends with, after the architecture."""

    def __init__(self, params: ModelParams, vocab_size: int) -> None:
        super().__init__()
        self.encoder = architecture_of(params.architecture).encoder(params, vocab_size)

    @property
    def architecture(self) -> Architecture:
        """Return the architecture of the encoder."""
        return architecture_of(self.encoder.params.architecture)

    @property
    def exported_as(self) -> str:
        """Return the class of `transformers` that loads the exported model."""
        return f"{self.architecture.classes}{self.purpose}"

    def reset(self, generator: torch.Generator) -> None:
        """Draw initial weights."""
        self.architecture.initialize(self, self.encoder.params, generator)

    def config(self) -> Mapping[str, Any]:
        """Return what config.json says of the head, beside the sizes of the encoder."""
        return {}

    def files(self) -> Mapping[str, str]:
        """Return name -> text of what another library than `transformers` reads in the directory of this model."""
        return {}


class PretrainingModel(EncoderModel):
    """The encoder with the heads of pretraining: for masked tokens and, where it has segments, for sentence pairs."""

    def __init__(self, params: ModelParams, vocab_size: int) -> None:
        super().__init__(params, vocab_size)
        self.mlm = self.architecture.vocabulary_head(params, self.encoder.token_embedding)
        self.nsp = nn.Linear(params.hidden, 2) if params.next_sentence else None

    def forward(self, inputs: Inputs) -> tuple[Tensor, Tensor | None]:
        """Return the logits of the masked tokens, (M, V), and of the sentence pairs, (B, 2), where there is a head."""
        masked, nsp = self._masked_and_pairs(inputs)
        return self.mlm(masked), nsp

    def losses(self, inputs: Inputs) -> tuple[Tensor, Tensor | None]:
        """Return the losses of `pretraining_losses`, computed for a piece of the vocabulary at a time."""
        masked, nsp = self._masked_and_pairs(inputs)
        decoder = self.mlm.decoder
        mlm = vocabulary_loss(self.mlm.hidden(masked), decoder.weight, decoder.bias, inputs.masked_labels)
        return mlm, None if nsp is None else _next_sentence_loss(nsp, inputs)

    def scores(self, inputs: Inputs) -> dict[str, Tensor]:
        """Return summed losses in float32, and how many of the targets have the highest logit.

        They are `mlm_loss`, `mlm_correct` and, where there is a head for pairs, `nsp_loss`, `nsp_correct`.
        """
        masked, nsp = self._masked_and_pairs(inputs)
        decoder = self.mlm.decoder
        mlm, correct = vocabulary_scores(self.mlm.hidden(masked), decoder.weight, decoder.bias, inputs.masked_labels)
        scores = {"mlm_loss": mlm, "mlm_correct": correct}
        if nsp is not None:
            right = (nsp.argmax(1) == inputs.next_sentence_label).sum()  # an ignored label equals no class
            scores |= {"nsp_loss": _next_sentence_loss(nsp, inputs), "nsp_correct": right}
        return scores

    def _masked_and_pairs(self, inputs: Inputs) -> tuple[Tensor, Tensor | None]:
        """Return the encoder's output at the masked tokens, (M, D), and the logits of the sentence pairs, (B, 2)."""
        x = self.encoder(inputs.input_ids, inputs.token_type_ids, inputs.layout)
        nsp = None if self.nsp is None else self.nsp(self.encoder.pool(x, inputs.layout))
        return x.index_select(0, inputs.masked_positions), nsp


def pretraining_losses(mlm_logits: Tensor, nsp_logits: Tensor, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy in nats, summed over masked tokens and over labelled pairs; 0 where there are none."""
    mlm = F.cross_entropy(mlm_logits.float(), inputs.masked_labels, reduction="sum")
    return mlm, _next_sentence_loss(nsp_logits, inputs)


def _next_sentence_loss(logits: Tensor, inputs: Inputs) -> Tensor:
    return F.cross_entropy(logits.float(), inputs.next_sentence_label, reduction="sum", ignore_index=IGNORE_INDEX)
