"""The network that finds answers, and the scores that torch gives."""

# Dimensions: N tokens of all windows, D hidden.

import torch
from torch import Tensor, nn

from maskline.model.attention import Layout
from maskline.model.heads import EncoderModel
from maskline.model.inputs import layout_of, move
from maskline.model.settings import ModelParams
from maskline.tasks.spans.windows import WindowBatch


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


def log_probabilities(model: EncoderModel, batch: WindowBatch, device: torch.device) -> Tensor:
    """Return the log-probability of each candidate to be start and to be end, (B, C, 2); -inf where there is none.

    The tokens of the question are no candidates, so that in each window they sum to 1 over what may be an answer.
    """
    input_ids, token_type_ids = move(batch.input_ids, device), move(batch.token_type_ids, device)
    logits: Tensor = model(input_ids, token_type_ids, layout_of(batch.lengths, device))
    of_candidates = logits.float()[move(batch.candidates, device)]
    absent = ~move(batch.are_there, device)
    return of_candidates.masked_fill(absent[..., None], -torch.inf).log_softmax(1)
