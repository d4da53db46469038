"""Using a model that gives texts vectors: how alike are two texts?"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maskline.finetuning.use import Graph, Predicted, token_means
from maskline.tasks.similarity.examples import FIRST, SECOND
from maskline.tasks.similarity.measures import cosines
from maskline.tasks.similarity.pairs import Scorer, all_vectors, encode_pairs
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import Packed

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from maskline.model.attention import Layout
    from maskline.model.directory import SavedModel
    from maskline.tasks.similarity.model import SimilarityModel

PURPOSES = ("Model",)
"""Also those of others, such as sentence-transformers, that pool by the mean."""
SMALL = 1e-12
"""What a length is at least, so that nothing is divided by 0; as in torch."""


class SimilarityPredictor:
    """Tells how alike the texts of a pair are: the cosine of their vectors, from -1 to 1."""

    fields = (FIRST, SECOND)

    def __init__(self, score: Scorer, tokenizer: LoadedTokenizer, longest: int) -> None:
        """Read texts of at most `longest` tokens."""
        self.score = score
        self.tokenizer = tokenizer
        self.longest = longest

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> Predicted:
        """Return the `similarity` of each pair; of a text that is too long the beginning counts."""
        if not inputs:
            return Predicted([])
        columns = [[pair[name] for pair in inputs] for name in self.fields]
        pairs = encode_pairs(columns, self.tokenizer, self.longest)
        near = np.clip(cosines(all_vectors(self.score, pairs.texts), pairs.rows), -1, 1)
        return Predicted([{"similarity": value} for value in near.tolist()], cut=pairs.cut)


def load(saved: "SavedModel") -> "SimilarityModel":
    """Return the network of `saved`: any encoder alone.

    Raises:
        UserError: it has a head.
    """
    from maskline.tasks.similarity.model import SimilarityModel

    model = SimilarityModel(saved.params, saved.vocab_size)
    saved.copy_into(model, may_lack=saved.names.pooler)
    return model


def open_predictor(saved: "SavedModel", tokenizer: LoadedTokenizer, device: "torch.device") -> SimilarityPredictor:
    """Return the model `saved` on `device`.

    Raises:
        UserError: as `load`.
    """
    from maskline.finetuning.scorer import TorchScorer
    from maskline.tasks.similarity.model import unit_vectors

    model = load(saved).to(device)
    return SimilarityPredictor(TorchScorer(model, device, unit_vectors), tokenizer, model.encoder.params.max_positions)


def open_graph(graph: Graph, tokenizer: LoadedTokenizer) -> SimilarityPredictor:
    """Return the model that is a graph."""
    return SimilarityPredictor(graph_scorer(graph), tokenizer, graph.longest)


def graph_scorer(graph: Graph) -> Scorer:
    """Return what gives vectors by a graph: the mean over all tokens of each text, made as long as 1."""

    def score(texts: Packed) -> NDArray[np.float32]:
        (states,) = graph.of_tokens(texts, "last_hidden_state")
        means = token_means(states, texts.lengths)
        vectors: NDArray[np.float32] = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), SMALL)
        return vectors

    return score


def graph_outputs(model: "SimilarityModel", x: "Tensor", layout: "Layout", mask: "Tensor") -> "dict[str, Tensor]":  # noqa: ARG001
    """Return nothing: there is no head."""
    return {}
