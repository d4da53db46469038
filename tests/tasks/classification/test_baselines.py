import numpy as np

from maskline.dataset.read import Dataset
from maskline.tasks.classification.baselines import majority_accuracy, tfidf_predictions
from maskline.tasks.classification.task import Classification


def test_majority_is_that_of_training():
    test = np.array([0, 0, 0, 1])
    assert majority_accuracy(np.array([1, 0, 1]), test) == 0.25
    assert majority_accuracy(np.array([1, 0]), test) == 0.75


def columns(texts, labels):
    return {"text": texts, "label": labels}


def test_tfidf_learns_words_and_their_order():
    some = columns(["not good", "good", "bad", "not bad"] * 5, [0, 1, 0, 1] * 5)
    assert tfidf_predictions(some, some, some["text"]).tolist() == some["label"]


def test_tfidf_reads_texts_of_signs_and_single_letters():
    some = columns(["!", "?"] * 5, [0, 1] * 5)
    assert tfidf_predictions(some, some, some["text"]).tolist() == some["label"]


def test_tfidf_takes_the_penalty_of_the_validation_split(monkeypatch):
    tried = []

    class Model:
        def __init__(self, C, **_):  # noqa: N803
            self.c = C

        def fit(self, _, labels):
            assert labels == [0, 1]
            return self

        def score(self, _, labels):
            assert labels == [1]
            tried.append(self.c)
            return float(self.c in {10.0, 30.0})

        def predict(self, _):
            return np.array([int(self.c)])

    monkeypatch.setattr("maskline.tasks.classification.baselines.LogisticRegression", Model)
    found = tfidf_predictions(columns(["a", "b"], [0, 1]), columns(["a"], [1]), ["a"])
    assert found.tolist() == [10]  # the strongest of the best two
    assert tried == [3.0, 10.0, 30.0, 100.0]


def test_the_baselines_learn_from_training_and_are_scored_on_the_test_split():
    splits = {
        "train": columns(["fine", "fine", "poor"] * 4, [1, 1, 0] * 4),
        "validation": columns(["fine", "poor"], [1, 0]),
        "test": columns(["fine", "poor", "poor", "fine", "poor"], [1, 0, 0, 0, 0]),
    }
    tfidf, majority = Classification(["bad", "good"], np.ones(2, np.float32)).baselines(Dataset({}, splits))
    assert (tfidf.key, majority.key) == ("tfidf", "majority")
    # Of bad, 3 of 4 are found and nothing else; of good, the one, and another.
    assert tfidf.scores == {"accuracy": 0.8, "macro_f1": (2 * 0.75 / 1.75 + 2 / 3) / 2}
    assert majority.scores == {"accuracy": 0.2}
