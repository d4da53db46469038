"""The network of a classifier, and the probabilities that torch gives."""

# Dimensions: B sequences, N tokens of them all, D hidden, C classes.

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from maskline.model.attention import Layout
from maskline.model.heads import EncoderModel
from maskline.model.inputs import layout_of, move
from maskline.model.settings import ModelParams
from maskline.tokenization.texts import Packed

if TYPE_CHECKING:
    from maskline.tasks.classification.settings import Pooling


class ClassificationModel(EncoderModel):
    """The encoder with a linear classifier over the pooled [CLS] (Devlin et al. 2019, sec. 4.1), or over the mean.

    The mean is that of the last layer's output over all tokens, [CLS] and [SEP] included. Between either and the
    classifier stands what the architecture has there.
    """

    def __init__(
        self, params: ModelParams, vocab_size: int, classes: int, dropout: float, pooling: "Pooling" = "cls"
    ) -> None:
        super().__init__(params, vocab_size)
        self.pooled = pooling == "cls"
        self.pooling_config = self.architecture.pooling_config(pooling)
        if self.pooling_config is not None:
            self.purpose = "ForSequenceClassification"
        self.head = self.architecture.task_head(params)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(params.hidden, classes)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, layout: Layout) -> Tensor:
        """Score the classes for sequences, arguments as for `Encoder`: -> (B, C) logits."""
        x = self.encoder(input_ids, token_type_ids, layout)
        pooled = self.encoder.pool(x, layout) if self.pooled else mean(x, layout)
        return self.classifier(self.dropout(self.head(pooled)))  # type: ignore[no-any-return]

    def config(self) -> Mapping[str, Any]:
        """Return how the class of `transformers` pools, where there is one that does."""
        return self.pooling_config or {}


def logits(model: EncoderModel, texts: Packed, device: torch.device) -> Tensor:
    """Return the scores of the classes, (B, C)."""
    input_ids, token_type_ids = move(texts.input_ids, device), move(texts.token_type_ids, device)
    scores: Tensor = model(input_ids, token_type_ids, layout_of(texts.lengths, device))
    return scores


def class_probabilities(model: EncoderModel, texts: Packed, device: torch.device) -> Tensor:
    """Return the probabilities of the classes, (B, C)."""
    return logits(model, texts, device).float().softmax(1)


def mean(x: Tensor, layout: Layout) -> Tensor:
    """Pool encoded sequences by the mean of their tokens: (N, D) -> (B, D)."""
    return torch.segment_reduce(x, "mean", offsets=layout.bounds.long())
