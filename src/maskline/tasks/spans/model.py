"""The network that finds answers."""

# Dimensions: N tokens of all windows, D hidden.

from torch import Tensor, nn

from maskline.model.attention import Layout
from maskline.model.heads import EncoderModel
from maskline.model.settings import ModelParams


class SpanModel(EncoderModel):
    """The encoder with a linear layer that scores each token as start and as end (Devlin et al. 2019, sec. 4.2).

    Before it stands what the architecture has there.
    """

    pooled = False
    purpose = "ForQuestionAnswering"

    def __init__(self, params: ModelParams, vocab_size: int, dropout: float) -> None:
        super().__init__(params, vocab_size)
        self.dropout = nn.Dropout(dropout)
        self.head = self.architecture.task_head(params)
        self.qa_outputs = nn.Linear(params.hidden, 2)

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, layout: Layout) -> Tensor:
        """Score each token as start and as end, arguments as for `Encoder`: -> (N, 2) logits."""
        x = self.encoder(input_ids, token_type_ids, layout)
        return self.qa_outputs(self.dropout(self.head(x)))  # type: ignore[no-any-return]
