import numpy as np
import pytest
import torch
from maskline.evaluation.classification import classification_metrics, predict

from maskline.evaluation import classification
from maskline.model.directory import load_classifier
from maskline.tasks.classification import encode_texts
from maskline.tokenization.load import load_tokenizer


def test_macro_f1_tells_a_constant_classifier():
    labels = np.array([0] * 95 + [1] * 5)
    metrics = classification_metrics(labels, np.zeros(100, np.int64), 2)
    assert metrics["accuracy"] == 0.95
    assert metrics["macro_f1"] == pytest.approx((2 * 0.95 / 1.95 + 0) / 2)  # 0.487


def test_a_class_that_is_nowhere_counts_as_missed():
    labels = np.array([0, 1])
    assert classification_metrics(labels, labels, 2)["macro_f1"] == 1.0
    assert classification_metrics(labels, labels, 3)["macro_f1"] == pytest.approx(2 / 3)


def test_probabilities_come_in_the_order_of_the_texts_whatever_the_batch(tiny_project, monkeypatch):
    data = tiny_project / "data"
    tokenizer = load_tokenizer(data / "tokenizer")
    model, _ = load_classifier(data / "models" / "sentiment")
    texts = [f"the river {'of the city ' * (number % 4)}{number}" for number in range(11)]
    encoded = encode_texts(texts, tokenizer, 16)
    alone = np.concatenate(
        [predict(model, encode_texts([text], tokenizer, 16), tokenizer.special, torch.device("cpu")) for text in texts]
    )
    for size in (3, 64):
        monkeypatch.setattr(classification, "BATCH", size)
        together = predict(model, encoded, tokenizer.special, torch.device("cpu"))
        assert together == pytest.approx(alone, abs=1e-6)
    assert np.ptp(alone[:, 0]) > 1e-4
    assert alone.sum(1) == pytest.approx(np.ones(len(texts)))
