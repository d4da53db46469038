"""Using a model that gives texts vectors: how alike are two texts?"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from maskline.finetuning.use import Predicted
from maskline.model.directory import SavedModel
from maskline.tasks.similarity.examples import FIRST, SECOND
from maskline.tasks.similarity.measures import cosines
from maskline.tasks.similarity.model import SimilarityModel
from maskline.tasks.similarity.pairs import all_vectors, encode_pairs
from maskline.tokenization.load import LoadedTokenizer

PURPOSES = ("Model",)
"""Also those of others, such as sentence-transformers, that pool by the mean."""


class SimilarityPredictor:
    """Tells how alike the texts of a pair are: the cosine of their vectors, from -1 to 1."""

    fields = (FIRST, SECOND)

    def __init__(self, model: SimilarityModel, tokenizer: LoadedTokenizer, device: torch.device) -> None:
        self.model = model.to(device)
        self.tokenizer = tokenizer
        self.device = device

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> Predicted:
        """Return the `similarity` of each pair; of a text that is too long the beginning counts."""
        if not inputs:
            return Predicted([])
        columns = [[pair[name] for pair in inputs] for name in self.fields]
        pairs = encode_pairs(columns, self.tokenizer, self.model.encoder.params.max_positions)
        near = np.clip(cosines(all_vectors(self.model, pairs.texts, self.device), pairs.rows), -1, 1)
        return Predicted([{"similarity": value} for value in near.tolist()], cut=pairs.cut)


def open_predictor(saved: SavedModel, tokenizer: LoadedTokenizer, device: torch.device) -> SimilarityPredictor:
    """Return the model `saved` on `device`: any encoder alone.

    Raises:
        UserError: it has a head.
    """
    model = SimilarityModel(saved.params, saved.vocab_size)
    saved.copy_into(model, may_lack=saved.names.pooler)
    return SimilarityPredictor(model, tokenizer, device)
