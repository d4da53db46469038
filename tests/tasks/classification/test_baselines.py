import numpy as np
from sklearn.metrics import accuracy_score

from maskline.dataset.read import Dataset
from maskline.tasks.classification.baselines import majority_accuracy, tfidf_predictions
from maskline.tasks.classification.task import Classification

UNUSED = None
"""The baselines need no encoder."""


def test_majority_is_that_of_training():
    test = np.array([0, 0, 0, 1])
    assert majority_accuracy(np.array([1, 0, 1]), test) == 0.25
    assert majority_accuracy(np.array([1, 0]), test) == 0.75


def columns(texts, labels, seconds=None):
    return {"text": texts, "label": labels} | ({"second": seconds} if seconds else {})


def predictions(*splits, balanced=False, score=accuracy_score):
    return tfidf_predictions(*splits, balanced=balanced, score=score).predicted


def test_tfidf_learns_words_and_their_order():
    some = columns(["not good", "good", "bad", "not bad"] * 5, [0, 1, 0, 1] * 5)
    assert predictions(some, some, some).tolist() == some["label"]


def test_tfidf_reads_texts_of_signs_and_single_letters():
    some = columns(["!", "?"] * 5, [0, 1] * 5)
    assert predictions(some, some, some).tolist() == some["label"]


def test_tfidf_of_one_label_names_that():
    one, test = columns(["good", "fine"], [1, 1]), columns(["good", "bad", "odd"], [1, 0, 0])
    assert predictions(one, test, test).tolist() == [1, 1, 1]


def test_tfidf_takes_the_penalty_of_the_validation_split(monkeypatch):
    tried = []

    class Model:
        def __init__(self, C, class_weight, **_):  # noqa: N803
            self.c = C
            weights.add(class_weight)

        def fit(self, _, labels):
            assert labels == [0, 1]
            return self

        def predict(self, _):
            return np.array([int(self.c)])

    def score(labels, predicted):
        assert labels == [1]  # those of the validation split
        tried.append(int(predicted[0]))
        return float(predicted[0] in {10, 30})

    weights = set()
    monkeypatch.setattr("maskline.tasks.classification.baselines.LogisticRegression", Model)
    for balanced, weight in ((False, None), (True, "balanced")):
        splits = (columns(["ab", "cd"], [0, 1]), columns(["ab"], [1]), columns(["ab"], [0]))
        found = predictions(*splits, balanced=balanced, score=score)
        assert found.tolist() == [10]  # the strongest of the best two
        assert weights == {weight}
        weights.clear()
    assert tried == 4 * [3, 10, 30, 100]  # of words and of characters


def test_tfidf_reads_what_serves_the_validation_split_best():
    """Of new words, the ending tells the class to who reads characters; of words that are alike, the whole word."""
    endings = columns([f"{a}{b}{end}" for a in "abcdefgh" for b in "aeiou" for end in ("ism", "ly")], [0, 1] * 40)
    new = columns([f"{a}{b}{end}" for a in "klmn" for b in "aeiou" for end in ("ism", "ly")], [0, 1] * 20)
    found = tfidf_predictions(endings, new, new, balanced=False, score=accuracy_score)
    assert found.units == "characters"
    assert found.predicted.tolist() == new["label"]
    whole = columns(["good", "bad"] * 9, [0, 1] * 9)
    assert tfidf_predictions(whole, whole, whole, balanced=False, score=accuracy_score).units == "words"  # as good


def test_tfidf_tells_the_texts_of_a_pair_apart_and_sees_what_they_share():
    orders = columns(["cat", "dog"] * 8, [0, 1] * 8, ["dog", "cat"] * 8)
    assert predictions(orders, orders, orders).tolist() == orders["label"]
    words = [f"{a}{b}" for a in "abcdef" for b in "uvwxyz"]
    same = columns([*words, *words], [1] * 36 + [0] * 36, [*words, *words[5:], *words[:5]])
    new = columns(["au bv", "cw dx"], [1, 0], ["au bv", "ey fz"])
    assert predictions(same, same, new).tolist() == [1, 0]


def test_the_baseline_is_given_what_the_network_is_given():
    """Four of the ten odd texts are of the rare class: balanced, all ten are named so, at a price in accuracy."""
    texts = [f"{'odd' if number % 10 == 0 else 'common'} word" for number in range(100)]
    train = columns(texts, [int(number % 30 == 0) for number in range(100)])
    splits = {"train": train, "validation": train, "test": train}
    scores = {}
    for weights in ([1, 1], [0.526, 10]):
        task = Classification(["bad", "good"], np.array(weights, np.float32))
        scores[task.balanced] = task.baselines(Dataset({}, splits), UNUSED)[0].scores
    assert scores[True]["macro_f1"] > scores[False]["macro_f1"]
    assert scores[True]["accuracy"] < scores[False]["accuracy"]


def test_the_baselines_learn_from_training_and_are_scored_on_the_test_split():
    splits = {
        "train": columns(["fine", "fine", "poor"] * 4, [1, 1, 0] * 4),
        "validation": columns(["fine", "poor"], [1, 0]),
        "test": columns(["fine", "poor", "poor", "fine", "poor"], [1, 0, 0, 0, 0]),
    }
    tfidf, majority = Classification(["bad", "good"], np.ones(2, np.float32)).baselines(Dataset({}, splits), UNUSED)
    assert (tfidf.key, majority.key) == ("tfidf", "majority")
    assert tfidf.name == "TF-IDF of words, regression"
    # Of bad, 3 of 4 are found and nothing else; of good, the one, and another.
    assert tfidf.scores == {"accuracy": 0.8, "macro_f1": (2 * 0.75 / 1.75 + 2 / 3) / 2}
    assert majority.scores == {"accuracy": 0.2}


def test_the_penalty_is_chosen_on_the_validation_split_and_not_on_the_test_split(monkeypatch):
    """One penalty names every text good, as the validation split has it, the others bad, as the test split has it."""

    class Model:
        def __init__(self, C, **_):  # noqa: N803
            self.label = int(C == 10)

        def fit(self, x, labels):
            assert (x.shape[0], labels) == (2, [0, 1])
            return self

        def predict(self, x):
            return np.full(x.shape[0], self.label)

    monkeypatch.setattr("maskline.tasks.classification.baselines.LogisticRegression", Model)
    splits = {
        "train": columns(["poor", "fine"], [0, 1]),
        "validation": columns(["fine"] * 3, [1] * 3),
        "test": columns(["poor"] * 4, [0] * 4),
    }
    tfidf, _ = Classification(["bad", "good"], np.ones(2, np.float32)).baselines(Dataset({}, splits), UNUSED)
    assert tfidf.scores == {"accuracy": 0.0, "macro_f1": 0.0}


def test_the_penalty_is_chosen_by_the_score_that_chooses_the_network(monkeypatch):
    """By accuracy it would be the one that names every text bad, 8 of 10; by macro-F1, one that knows both classes."""

    class Model:
        def __init__(self, C, **_):  # noqa: N803
            self.knows = C == 10

        def fit(self, *_):
            return self

        def predict(self, x):
            return np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1] if self.knows else [0] * 10)[: x.shape[0]]

    monkeypatch.setattr("maskline.tasks.classification.baselines.LogisticRegression", Model)
    some = columns(["word"] * 10, [0] * 8 + [1] * 2)
    splits = dict.fromkeys(("train", "validation", "test"), some)
    tfidf, _ = Classification(["bad", "good"], np.ones(2, np.float32)).baselines(Dataset({}, splits), UNUSED)
    assert tfidf.scores["accuracy"] == 0.7
    assert tfidf.scores["macro_f1"] > 0.6
