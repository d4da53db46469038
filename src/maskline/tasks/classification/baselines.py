"""What a classifier is read against. Each rule learns from what the model learns from, and is scored as it is."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from maskline.dataset.read import Columns

WORDS_AND_SIGNS = r"\w+|[^\w\s]"
"""Each punctuation mark is a word of its own: it carries tone, and no text is without a word."""
Score = Callable[[Any, Any], float]
INVERSE_PENALTIES = (3.0, 10.0, 30.0, 100.0)


def majority_accuracy(training: NDArray[np.int64], test: NDArray[np.int64]) -> float:
    """Return the accuracy of naming the most frequent label of training; of several, the first."""
    return float((test == np.bincount(training).argmax()).mean())


def tfidf_predictions(
    training: Columns, validation: Columns, test: list[str], *, balanced: bool, score: Score
) -> NDArray[Any]:
    """Return the labels of `test` by logistic regression on TF-IDF weights of words and pairs of words.

    Args:
        training: `text` and `label`.
        validation: The penalty is the one that serves it best; of several, the strongest.
        test: Texts.
        balanced: Whether classes weigh by the inverse of their frequency, as they do for the network.
        score: What tells how good predictions are, labels first: that which chooses the network's weights.
    """
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=WORDS_AND_SIGNS)
    x, labels = vectorizer.fit_transform(training["text"]), training["label"]
    x_validation = vectorizer.transform(validation["text"])
    weights = "balanced" if balanced else None
    models = [LogisticRegression(C=c, max_iter=1000, class_weight=weights).fit(x, labels) for c in INVERSE_PENALTIES]
    best = max(models, key=lambda model: score(validation["label"], model.predict(x_validation)))
    predicted: NDArray[Any] = best.predict(vectorizer.transform(test))
    return predicted
