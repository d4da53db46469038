import warnings

import numpy as np
import pytest

from maskline.finetuning.probe import fit_probe, some


def right(labels):
    return lambda scores: float((scores.argmax(1) == labels).mean())


def vectors(labels, noise, seed=0, classes=3):
    """Return a one-hot vector of each label, with noise."""
    draw = np.random.default_rng(seed)
    return (np.eye(classes)[labels] + noise * draw.normal(size=(len(labels), classes))).astype(np.float32)


def test_the_vectors_that_tell_the_classes_apart_are_taken():
    labels = np.arange(60) % 3
    training = {"noise": vectors(labels, 50.0), "signal": vectors(labels, 0.1)}
    validation = {"noise": vectors(labels, 50.0, 1), "signal": vectors(labels, 0.1, 1)}
    probe = fit_probe(training, labels, validation, right(labels), 3)
    assert probe.vectors == "signal"
    scores = probe.log_probabilities(vectors(labels, 0.1, 2), 3)
    assert (scores.argmax(1) == labels).all()
    assert np.exp(scores).sum(1) == pytest.approx(1, abs=1e-5)


def test_the_penalty_is_the_one_that_serves_the_validation_split_and_of_equals_the_first():
    labels = np.arange(60) % 3
    x = {"one": vectors(labels, 0.1), "two": vectors(labels, 0.1)}
    sure = fit_probe(x, labels, x, lambda scores: float(np.exp(scores).max(1).mean()), 3)
    unsure = fit_probe(x, labels, x, lambda scores: -float(np.exp(scores).max(1).mean()), 3)
    assert (sure.regression.C, unsure.regression.C) == (1.0, 0.001)
    same = fit_probe(x, labels, x, lambda _: 0.5, 3)
    assert (same.vectors, same.regression.C) == ("one", 0.001)


def test_classes_that_training_has_not_are_impossible_and_one_alone_is_no_regression():
    labels = np.array([0, 2] * 10)
    x = {"x": vectors(labels, 0.1)}
    probe = fit_probe(x, labels, x, right(labels), 4)
    scores = probe.log_probabilities(x["x"], 4)
    assert np.isneginf(scores[:, [1, 3]]).all()
    assert (scores.argmax(1) == labels).all()
    assert fit_probe(x, np.zeros(20, np.int64), x, right(labels), 4) is None


def test_of_many_examples_some_are_read_that_are_evenly_spaced():
    assert some(3, 5).tolist() == [0, 1, 2]
    assert some(10, 4).tolist() == [0, 2, 5, 7]


def test_a_class_that_is_out_of_the_question_is_told_without_a_warning():
    labels = np.arange(60) % 3
    x = {"x": vectors(labels, 0.1)}
    probe = fit_probe(x, labels, x, right(labels), 3)
    with warnings.catch_warnings(action="error"):
        scores = probe.log_probabilities(1e4 * np.eye(3, dtype=np.float32), 3)
    assert np.exp(scores) == pytest.approx(np.eye(3))
