"""What stands on the encoder: a head of any kind, and those of pretraining (MLM and NSP)."""

# Dimensions: B sequences, N tokens of them all, D hidden, V vocabulary, M masked tokens.

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from maskline.core.labels import IGNORE_INDEX
from maskline.model.attention import Layout
from maskline.model.bert import ACTIVATIONS, Encoder, initialize
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


class MaskedLanguageModelHead(nn.Module):
    """A transform, and a decoder that shares its weight with the token embedding (Devlin et al. 2019, appendix A.2)."""

    def __init__(self, params: ModelParams, embedding: nn.Embedding) -> None:
        super().__init__()
        self.transform = nn.Linear(params.hidden, params.hidden)
        self.activation = ACTIVATIONS[params.activation]
        self.norm = nn.LayerNorm(params.hidden, params.layer_norm_eps)
        self.decoder = nn.Linear(params.hidden, embedding.num_embeddings)
        self.decoder.weight = embedding.weight

    def forward(self, x: Tensor) -> Tensor:
        """Score the vocabulary for encoded tokens: (M, D) -> (M, V) logits."""
        return self.decoder(self.hidden(x))  # type: ignore[no-any-return]

    def hidden(self, x: Tensor) -> Tensor:
        """Return the input of the decoder: (M, D) -> (M, D)."""
        return self.norm(self.activation(self.transform(x)))  # type: ignore[no-any-return]


class LinearHead(nn.Module):
    """A decoder with a weight of its own and no transform: the last layer of a textbook Transformer, not BERT's."""

    def __init__(self, params: ModelParams, embedding: nn.Embedding) -> None:
        super().__init__()
        self.decoder = nn.Linear(params.hidden, embedding.num_embeddings)

    def forward(self, x: Tensor) -> Tensor:
        """Score the vocabulary for encoded tokens: (M, D) -> (M, V) logits."""
        return self.decoder(x)  # type: ignore[no-any-return]

    def hidden(self, x: Tensor) -> Tensor:
        """Return the input of the decoder: `x` itself, (M, D)."""
        return x


MLM_HEADS: dict[str, type[MaskedLanguageModelHead] | type[LinearHead]] = {
    "bert": MaskedLanguageModelHead,
    "linear": LinearHead,
}


class EncoderModel(nn.Module):
    """An encoder with a head, which a subclass adds: what is trained, saved and loaded.

    A head has the name that it has in Hugging Face's class of the same purpose.
    """

    pooled = True
    """Whether the head reads the pooler."""

    def __init__(self, params: ModelParams, vocab_size: int) -> None:
        super().__init__()
        self.encoder = Encoder(params, vocab_size)

    def reset(self, generator: torch.Generator) -> None:
        """Draw initial weights."""
        initialize(self, self.encoder.params, generator)

    def files(self) -> Mapping[str, str]:
        """Return name -> text of what another library than `transformers` reads in the directory of this model."""
        return {}


class PretrainingModel(EncoderModel):
    """The encoder with both pretraining heads."""

    def __init__(self, params: ModelParams, vocab_size: int) -> None:
        super().__init__(params, vocab_size)
        self.mlm = MLM_HEADS[params.mlm_head](params, self.encoder.embeddings.token)
        self.nsp = nn.Linear(params.hidden, 2)

    def forward(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Return the logits of the masked tokens, (M, V), and of the sentence pairs, (B, 2)."""
        masked, pooled = self._masked_and_pooled(inputs)
        return self.mlm(masked), self.nsp(pooled)

    def losses(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Return the losses of `pretraining_losses`, computed for a piece of the vocabulary at a time."""
        masked, pooled = self._masked_and_pooled(inputs)
        decoder = self.mlm.decoder
        mlm = vocabulary_loss(self.mlm.hidden(masked), decoder.weight, decoder.bias, inputs.masked_labels)
        return mlm, _next_sentence_loss(self.nsp(pooled), inputs)

    def scores(self, inputs: Inputs) -> dict[str, Tensor]:
        """Return summed losses in float32, and how many of the targets have the highest logit.

        Of both objectives: `mlm_loss`, `mlm_correct`, `nsp_loss`, `nsp_correct`.
        """
        masked, pooled = self._masked_and_pooled(inputs)
        decoder = self.mlm.decoder
        mlm, correct = vocabulary_scores(self.mlm.hidden(masked), decoder.weight, decoder.bias, inputs.masked_labels)
        logits = self.nsp(pooled)
        right = (logits.argmax(1) == inputs.next_sentence_label).sum()  # an ignored label equals no class
        return {
            "mlm_loss": mlm,
            "mlm_correct": correct,
            "nsp_loss": _next_sentence_loss(logits, inputs),
            "nsp_correct": right,
        }

    def _masked_and_pooled(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        """Return the encoder's output at the masked tokens, (M, D), and pooled, (B, D)."""
        x = self.encoder(inputs.input_ids, inputs.token_type_ids, inputs.layout)
        return x.index_select(0, inputs.masked_positions), self.encoder.pool(x, inputs.layout)


def pretraining_losses(mlm_logits: Tensor, nsp_logits: Tensor, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """Return the cross-entropy in nats, summed over masked tokens and over labelled pairs; 0 where there are none."""
    mlm = F.cross_entropy(mlm_logits.float(), inputs.masked_labels, reduction="sum")
    return mlm, _next_sentence_loss(nsp_logits, inputs)


def _next_sentence_loss(logits: Tensor, inputs: Inputs) -> Tensor:
    return F.cross_entropy(logits.float(), inputs.next_sentence_label, reduction="sum", ignore_index=IGNORE_INDEX)
