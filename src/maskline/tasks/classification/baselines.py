"""What a classifier is read against. Each rule learns from what the model learns from, and is scored as it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from maskline.dataset.read import Columns

Units = Literal["words", "characters"]

WORDS_AND_SIGNS = r"\w+|[^\w\s]"
"""Each punctuation mark is a word of its own: it carries tone, and no text is without a word."""
VECTORIZERS: dict[Units, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2), "token_pattern": WORDS_AND_SIGNS},
    "characters": {"ngram_range": (2, 5), "analyzer": "char_wb", "max_features": 100_000},
}
"""Words and pairs of words; runs of 2 to 5 characters of a word, the most frequent ones, for spellings and endings that
words alone miss."""
Score = Callable[[Any, Any], float]
INVERSE_PENALTIES = (3.0, 10.0, 30.0, 100.0)


def majority_accuracy(training: NDArray[np.int64], test: NDArray[np.int64]) -> float:
    """Return the accuracy of naming the most frequent label of training; of several, the first."""
    return float((test == np.bincount(training).argmax()).mean())


@dataclass(frozen=True)
class Tfidf:
    """What logistic regression on TF-IDF says of the test split."""

    units: Units
    """What was weighed."""
    predicted: NDArray[Any]
    """(N,) labels."""


def tfidf_predictions(training: Columns, validation: Columns, test: Columns, *, balanced: bool, score: Score) -> Tfidf:
    """Return the labels of `test` by logistic regression on TF-IDF weights, of words or of characters.

    Args:
        training: `text`, `label` and, of pairs, `second`. Where all have one label, that is what is returned.
        validation: Units and penalty are those that serve it best; of several, words and the strongest.
        test: As the others; its labels are not read.
        balanced: Whether classes weigh by the inverse of their frequency, as they do for the network.
        score: What tells how good predictions are, labels first: that which chooses the network's weights.
    """
    if len(set(training["label"])) == 1:  # as few labels may be: regression needs two classes
        return Tfidf("words", np.repeat(training["label"][:1], len(test["text"])))
    weights = "balanced" if balanced else None
    best, found = -np.inf, None
    for units, options in VECTORIZERS.items():
        vectorizer = TfidfVectorizer(sublinear_tf=True, **options)
        x = _features(vectorizer.fit_transform, training)
        x_validation, x_test = (_features(vectorizer.transform, split) for split in (validation, test))
        for penalty in INVERSE_PENALTIES:
            model = LogisticRegression(C=penalty, max_iter=1000, class_weight=weights).fit(x, training["label"])
            if (value := score(validation["label"], model.predict(x_validation))) > best:
                best, found = value, Tfidf(units, model.predict(x_test))
    assert found is not None
    return found


def _features(weigh: Callable[[list[str]], csr_matrix], examples: Columns) -> csr_matrix:
    """Return the weights of each example: of a pair those of either text, and their products, of what both have."""
    weights = weigh(examples["text"] + examples.get("second", []))
    if "second" not in examples:
        return weights
    pairs = len(examples["text"])
    first, second = weights[:pairs], weights[pairs:]
    return hstack([first, second, first.multiply(second)], format="csr")
