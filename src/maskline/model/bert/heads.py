"""The heads for masked tokens that stand on BERT."""

# Dimensions: M masked tokens, D hidden.

from torch import Tensor, nn

from maskline.model.architecture import VocabularyHead
from maskline.model.bert.encoder import ACTIVATIONS
from maskline.model.bert.settings import Settings


class MaskedLanguageModelHead(VocabularyHead):
    """A transform, and a decoder that shares its weight with the token embedding (Devlin et al. 2019, appendix A.2)."""

    def __init__(self, params: Settings, embedding: nn.Embedding) -> None:
        super().__init__()
        self.transform = nn.Linear(params.hidden, params.hidden)
        self.activation = ACTIVATIONS[params.activation]
        self.norm = nn.LayerNorm(params.hidden, params.layer_norm_eps)
        self.decoder = nn.Linear(params.hidden, embedding.num_embeddings)
        self.decoder.weight = embedding.weight

    def hidden(self, x: Tensor) -> Tensor:
        """Return the input of the decoder: (M, D) -> (M, D)."""
        return self.norm(self.activation(self.transform(x)))  # type: ignore[no-any-return]


class LinearHead(VocabularyHead):
    """A decoder with a weight of its own and no transform: the last layer of a textbook Transformer, not BERT's."""

    def __init__(self, params: Settings, embedding: nn.Embedding) -> None:
        super().__init__()
        self.decoder = nn.Linear(params.hidden, embedding.num_embeddings)

    def hidden(self, x: Tensor) -> Tensor:
        """Return the input of the decoder: `x` itself, (M, D)."""
        return x


MLM_HEADS: dict[str, type[MaskedLanguageModelHead] | type[LinearHead]] = {
    "bert": MaskedLanguageModelHead,
    "linear": LinearHead,
}
