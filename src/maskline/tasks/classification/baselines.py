"""What a classifier is read against. Each rule learns from what the model learns from, and is scored as it is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from maskline.dataset.read import Columns

WORDS_AND_SIGNS = r"\w+|[^\w\s]"
"""Each punctuation mark is a word of its own: it carries tone, and no text is without a word."""
INVERSE_PENALTIES = (3.0, 10.0, 30.0, 100.0)


def majority_accuracy(training: NDArray[np.int64], test: NDArray[np.int64]) -> float:
    """Return the accuracy of naming the most frequent label of training; of several, the first."""
    return float((test == np.bincount(training).argmax()).mean())


def tfidf_predictions(training: Columns, validation: Columns, test: list[str]) -> NDArray[Any]:
    """Return the labels of `test` by logistic regression on TF-IDF weights of words and pairs of words.

    The penalty is the one that serves the validation split best; of several, the strongest.
    """
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=WORDS_AND_SIGNS)
    x, labels = vectorizer.fit_transform(training["text"]), training["label"]
    x_validation = vectorizer.transform(validation["text"])
    models = [LogisticRegression(C=c, max_iter=1000).fit(x, labels) for c in INVERSE_PENALTIES]
    best = max(models, key=lambda model: model.score(x_validation, validation["label"]))
    predicted: NDArray[Any] = best.predict(vectorizer.transform(test))
    return predicted
