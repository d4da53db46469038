"""The probabilities of the classes, whatever computes a batch."""

# Dimensions: B texts or pairs of a batch, C classes.

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maskline.examples.batches import by_length
from maskline.tokenization.texts import EncodedTexts, Packed

BATCH_TOKENS = 4096
"""What is predicted at once, unless one example alone is longer."""
Scorer = Callable[[Packed], NDArray[np.float32]]
"""What gives the probability of each class for the texts of a batch, (B, C)."""


def probabilities(score: Scorer, texts: EncodedTexts, classes: int) -> NDArray[np.float32]:
    """Return the probability of each class for each text, (len(texts), C)."""
    found = np.zeros((len(texts), classes), np.float32)
    for rows in by_length(texts.sizes, BATCH_TOKENS):
        found[rows] = score(texts.packed(rows))
    return found
