"""The heads that stand on ModernBERT."""

# Dimensions: M tokens of a selection, D hidden.

from torch import Tensor, nn
from torch.nn import functional as F

from maskline.model.architecture import VocabularyHead
from maskline.model.modernbert.encoder import layer_norm, linear
from maskline.model.modernbert.settings import Settings


class PredictionHead(nn.Module):
    """A dense layer, GELU and LayerNorm: what stands before the decoder, and before the linear layer of a task."""

    def __init__(self, params: Settings) -> None:
        super().__init__()
        self.dense = linear(params.hidden, params.hidden)
        self.norm = layer_norm(params)

    def forward(self, x: Tensor) -> Tensor:
        """Transform (M, D) -> (M, D)."""
        return self.norm(F.gelu(self.dense(x)))  # type: ignore[no-any-return]


class MaskedLanguageModelHead(VocabularyHead):
    """The prediction head, and a decoder with a bias that shares its weight with the token embedding."""

    def __init__(self, params: Settings, embedding: nn.Embedding) -> None:
        super().__init__()
        self.head = PredictionHead(params)
        self.decoder = nn.Linear(params.hidden, embedding.num_embeddings)
        self.decoder.weight = embedding.weight

    def hidden(self, x: Tensor) -> Tensor:
        """Return the input of the decoder: (M, D) -> (M, D)."""
        return self.head(x)  # type: ignore[no-any-return]
