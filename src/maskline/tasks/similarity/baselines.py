"""What the vectors of a fine-tuned encoder are read against, as unit vectors of the same texts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from maskline.model.architecture import Encoder
from maskline.tokenization.texts import EncodedTexts

WORDS = r"\w+"
"""Also those of one letter."""


def tfidf_vectors(training: list[str], texts: list[str]) -> Any:
    """Return the TF-IDF weights of the words of `texts`, (T, V) sparse, by how often they occur in `training`.

    A text without a word of training has only zeros. So have all where training has none.
    """
    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=WORDS)
    try:
        vectorizer.fit(training)
    except ValueError:  # no word at all
        return np.zeros((len(texts), 1))
    return vectorizer.transform(texts)


def embedding_vectors(encoder: Encoder, texts: EncodedTexts) -> NDArray[np.float32]:
    """Return the mean of the token embeddings of each text, without [CLS] and [SEP], (T, D) of length 1 or 0."""
    table: NDArray[np.float32] = encoder.token_embedding.weight.detach().cpu().numpy()
    vectors = np.zeros((len(texts), table.shape[1]), np.float32)
    for number, ids in enumerate(texts.input_ids):
        if len(ids) > 2:
            mean = table[ids[1:-1]].mean(0)
            vectors[number] = mean / max(float(np.linalg.norm(mean)), np.finfo(np.float32).tiny)
    return vectors
