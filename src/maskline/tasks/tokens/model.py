"""The network of a tagger, and the scores that torch gives."""

# Dimensions: N tokens of all sequences, M tagged tokens, D hidden, C tags.

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maskline.model.attention import Layout
from maskline.model.heads import EncoderModel
from maskline.model.inputs import layout_of, move
from maskline.model.settings import ModelParams
from maskline.tasks.tokens.tagging import WordBatch


class TokenModel(EncoderModel):
    """The encoder with a linear classifier over single tokens (Devlin et al. 2019, sec. 5.3).

    Before it stands what the architecture has there.
    """

    pooled = False
    purpose = "ForTokenClassification"

    def __init__(self, params: ModelParams, vocab_size: int, tags: int, dropout: float) -> None:
        super().__init__(params, vocab_size)
        self.dropout = nn.Dropout(dropout)
        self.head = self.architecture.task_head(params)
        self.classifier = nn.Linear(params.hidden, tags)

    def forward(self, input_ids: Tensor, layout: Layout, positions: Tensor) -> Tensor:
        """Score the tags of the tokens at `positions`, (M,) among the N of `input_ids`: -> (M, C) logits."""
        x = self.encoder(input_ids, input_ids.new_zeros(len(input_ids)), layout)
        return self.classifier(self.dropout(self.head(x.index_select(0, positions))))  # type: ignore[no-any-return]


def logits_of(model: EncoderModel, batch: WordBatch, device: torch.device) -> Tensor:
    """Return the scores of the tags of a batch's words, (M, C)."""
    input_ids, positions = move(batch.input_ids, device), move(batch.positions, device)
    logits: Tensor = model(input_ids, layout_of(batch.lengths, device), positions)
    return logits


def log_probabilities(model: EncoderModel, batch: WordBatch, device: torch.device) -> Tensor:
    """Return the log-probabilities of the tags of a batch's words, (M, C)."""
    return F.log_softmax(logits_of(model, batch, device).float(), 1)
