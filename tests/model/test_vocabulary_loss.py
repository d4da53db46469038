import pytest
import torch
from torch.nn import functional

from maskline.model import vocabulary_loss as module
from maskline.model.vocabulary_loss import vocabulary_loss, vocabulary_scores

WIDTH, VOCAB = 16, 97


def arguments(count=23, scale=1.0):
    draw = torch.Generator().manual_seed(count)
    hidden, weight = torch.randn(count, WIDTH, generator=draw) * scale, torch.randn(VOCAB, WIDTH, generator=draw)
    bias = torch.randn(VOCAB, generator=draw)
    labels = torch.randint(0, VOCAB, (count,), generator=draw)
    return [tensor.requires_grad_() for tensor in (hidden, weight, bias)], labels


def reference(parts, labels):
    hidden, weight, bias = parts
    return functional.cross_entropy(functional.linear(hidden, weight, bias), labels, reduction="sum")


def gradients(loss, parts):
    """Return the gradients of three times the loss: what comes from above is not 1."""
    return torch.autograd.grad(3 * loss, parts)


@pytest.mark.parametrize("piece", [1, 7, 96, 97, 8192])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_it_is_the_cross_entropy_of_the_logits(piece, scale, monkeypatch):
    monkeypatch.setattr(module, "PIECE", piece)
    parts, labels = arguments(scale=scale)
    ours, theirs = vocabulary_loss(*parts, labels), reference(parts, labels)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=0)
    for ours_of, theirs_of in zip(gradients(ours, parts), gradients(theirs, parts), strict=True):
        torch.testing.assert_close(ours_of, theirs_of, rtol=1e-4, atol=1e-4 * scale)


@pytest.mark.parametrize("piece", [7, 8192])
def test_bfloat16_is_nearer_to_float32_than_autocast_is(piece, monkeypatch):
    monkeypatch.setattr(module, "PIECE", piece)
    parts, labels = arguments(400)
    exact = gradients(reference(parts, labels), parts)
    with torch.autocast("cpu", torch.bfloat16):
        loss = vocabulary_loss(*parts, labels)
        autocast = functional.cross_entropy(functional.linear(*parts).float(), labels, reduction="sum")
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(reference(parts, labels).item(), rel=1e-3)
    for true, low, simple in zip(exact, gradients(loss, parts), gradients(autocast, parts), strict=True):
        assert low.dtype == torch.float32
        assert (low - true).norm() < 0.01 * true.norm()
        assert (low - true).norm() < 1.2 * (simple - true).norm()


def test_nothing_to_predict_is_a_loss_of_0_and_no_gradient():
    parts, labels = arguments(0)
    loss = vocabulary_loss(*parts, labels)
    assert loss.item() == 0
    for gradient in gradients(loss, parts):
        assert not gradient.any()


def test_logits_too_large_for_an_exponential_stay_finite():
    parts, labels = arguments(scale=1000.0)
    loss = vocabulary_loss(*parts, labels)
    torch.testing.assert_close(loss, reference(parts, labels), rtol=1e-5, atol=0)
    assert all(gradient.isfinite().all() for gradient in gradients(loss, parts))


@pytest.mark.parametrize("piece", [1, 7, 96, 97, 8192])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_scores_are_those_of_the_logits(piece, scale, monkeypatch):
    monkeypatch.setattr(module, "PIECE", piece)
    parts, labels = arguments(400, scale=scale)
    logits = functional.linear(*parts)
    labels[::3] = logits.argmax(1)[::3]
    loss, correct = vocabulary_scores(*parts, labels)
    torch.testing.assert_close(loss, reference(parts, labels).detach(), rtol=1e-5, atol=0)
    assert correct == (logits.argmax(1) == labels).sum()


def test_of_equal_logits_the_first_is_the_highest(monkeypatch):
    monkeypatch.setattr(module, "PIECE", 7)
    parts = [torch.zeros(3, WIDTH), torch.zeros(VOCAB, WIDTH), torch.zeros(VOCAB)]
    assert vocabulary_scores(*parts, torch.tensor([0, 1, 96]))[1] == 1
