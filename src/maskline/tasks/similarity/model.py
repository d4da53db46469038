"""The network that gives texts vectors, and the files by which sentence-transformers loads it."""

# Dimensions: B sequences, N tokens of them all, D hidden.

import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from maskline.model.attention import Layout
from maskline.model.heads import EncoderModel
from maskline.model.inputs import layout_of, move
from maskline.tokenization.texts import Packed

_MODULES = "sentence_transformers.models"
"""Where the library had its modules first: every release finds them under this name, as most models give it."""


class SimilarityModel(EncoderModel):
    """The encoder, and the mean of its output over a text (Reimers & Gurevych 2019, sec. 3).

    Nothing reads the pooler. It is saved as it came: `BertModel` has one, and would draw it at random.
    """

    def forward(self, input_ids: Tensor, layout: Layout) -> Tensor:
        """Return the mean over all tokens of each sequence, [CLS] and [SEP] included: (N,) -> (B, D) float32."""
        x = self.encoder(input_ids, torch.zeros_like(input_ids), layout)
        return torch.segment_reduce(x.float(), "mean", offsets=layout.bounds.long())

    def files(self) -> Mapping[str, str]:
        """Return what sentence-transformers reads beside config, weights and tokenizer."""
        params = self.encoder.params
        contents: dict[str, Any] = {
            "modules.json": [
                {"idx": 0, "name": "0", "path": "", "type": f"{_MODULES}.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{_MODULES}.Pooling"},
            ],
            "1_Pooling/config.json": {"word_embedding_dimension": params.hidden, "pooling_mode_mean_tokens": True},
            "sentence_bert_config.json": {"max_seq_length": params.max_positions, "do_lower_case": False},
            "config_sentence_transformers.json": {"similarity_fn_name": "cosine"},
        }
        return {name: json.dumps(content, indent=2) + "\n" for name, content in contents.items()}


def unit_vectors(model: EncoderModel, texts: Packed, device: torch.device) -> Tensor:
    """Return the vectors of texts, (T, D), each of length 1."""
    return F.normalize(model(move(texts.input_ids, device), layout_of(texts.lengths, device)))


def contrastive_loss(vectors: Tensor, questions: Tensor, answers: Tensor, among: Tensor, temperature: float) -> Tensor:
    """Return how hard it is to find each answer, summed in nats (InfoNCE, van den Oord et al. 2018, sec. 2.3).

    Args:
        vectors: (T, D) of texts, each of length 1.
        questions: (B,) numbers of texts.
        answers: (B,) numbers of what belongs to them.
        among: (B, T) the texts that each is looked for among.
        temperature: what cosines are divided by.
    """
    logits = (vectors[questions] @ vectors.T / temperature).masked_fill(~among, -torch.inf)
    return F.cross_entropy(logits, answers, reduction="sum")
