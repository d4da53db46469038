"""The network of a classifier."""

# Dimensions: B sequences, N tokens of them all, D hidden, C classes.

from torch import Tensor, nn

from maskline.model.attention import Layout
from maskline.model.heads import EncoderModel
from maskline.model.settings import ModelParams


class ClassificationModel(EncoderModel):
    """The encoder with a linear classifier over the pooled [CLS] (Devlin et al. 2019, sec. 4.1)."""

    def __init__(self, params: ModelParams, vocab_size: int, classes: int, dropout: float) -> None:
        super().__init__(params, vocab_size)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(params.hidden, classes)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, layout: Layout) -> Tensor:
        """Score the classes for sequences, arguments as for `Encoder`: -> (B, C) logits."""
        x = self.encoder(input_ids, token_type_ids, layout)
        return self.classifier(self.dropout(self.encoder.pool(x, layout)))  # type: ignore[no-any-return]
