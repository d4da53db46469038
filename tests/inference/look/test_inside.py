import numpy as np
import pytest
import torch
from torch import nn

from maskline.inference.look.inside import look_inside
from maskline.inference.look.model import open_model

CPU = torch.device("cpu")


def sequence(tokens):
    """Return ids and types of a pair of so many tokens in all."""
    ids = np.random.default_rng(tokens).integers(5, 97, tokens)
    return ids, (np.arange(tokens) > tokens // 2).astype(np.int64)


@pytest.mark.parametrize("tokens", [1, 3, 8, 9, 32])  # a head has 8 numbers, and 10 in ModernBERT
@pytest.mark.parametrize("kind", ["pretraining", "modernbert"])
def test_weights_and_vectors_are_those_of_eager_attention(models, eager, kind, tokens):
    ids, types = sequence(tokens)
    model = open_model(models / kind).model
    inside = look_inside(model.encoder, ids, types, CPU)
    weights, vectors = eager(kind, ids, types)
    assert inside.attention.shape == weights.shape == (model.encoder.params.layers, 2, tokens, tokens)
    assert np.abs(inside.attention - weights).max() < 1e-5
    assert np.abs(inside.vectors - vectors).max() < 1e-5
    if tokens > 1:
        assert weights.std() > 0.02  # so that other weights would be noticed
        assert np.abs(weights - weights.mT).max() > 0.1


def test_the_model_is_left_as_it_was(models):
    ids, types = sequence(9)
    model = open_model(models / "pretraining").model
    before = look_inside(model.encoder, ids, types, CPU)
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.5
    for training in (True, False):
        model.train(training)
        inside = look_inside(model.encoder, ids, types, CPU)
        assert np.array_equal(inside.attention, before.attention)
        assert np.array_equal(inside.vectors, before.vectors)
        assert model.encoder.training == training
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def test_a_failure_leaves_no_hooks(models):
    model = open_model(models / "pretraining").model
    with pytest.raises(IndexError):
        look_inside(model.encoder, np.array([97]), np.zeros(1, np.int64), CPU)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())
