import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from maskline.examples.pairs import IS_NEXT, RANDOM
from maskline.examples.premasked import read_premasked
from maskline.model.directory import load_pretraining_model
from maskline.model.heads import pretraining_losses
from maskline.pretraining import scores
from maskline.pretraining.scores import perplexity, pretraining_metrics, pretraining_sums
from maskline.tokenization.load import load_tokenizer
from maskline.training.inputs import to_inputs

CPU = torch.device("cpu")


@pytest.fixture(name="scored")
def _scored(tiny_project):
    data = tiny_project / "data"
    special = load_tokenizer(data / "tokenizer").special
    return load_pretraining_model(data / "models" / "pretrained"), read_premasked(data / "validation"), special


def test_scores_do_not_depend_on_the_batch_size(scored, monkeypatch):
    results = []
    for size in (80, 640):
        monkeypatch.setattr(scores, "BATCH_TOKENS", size)
        results.append(pretraining_metrics(pretraining_sums(*scored, CPU), nsp=True))
    assert results[0] == pytest.approx(results[1], rel=1e-6)  # float32 sums in another order


def test_perplexity_is_of_the_mean_over_masked_tokens_not_over_batches(scored):
    model, validation, special = scored
    total = masked = 0
    with torch.no_grad():
        for _, batch in validation.batches(1, special):
            inputs = to_inputs(batch, CPU)
            total += pretraining_losses(*model(inputs), inputs)[0].item()
            masked += len(batch.masked_labels)
    loss = pretraining_metrics(pretraining_sums(*scored, CPU), nsp=True)["mlm_loss"]
    assert perplexity(loss) == pytest.approx(math.exp(total / masked), rel=1e-5)


def test_a_model_that_knows_nothing_has_the_loss_of_a_guess(scored):
    model, validation, special = scored
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    metrics = pretraining_metrics(pretraining_sums(model, validation, special, CPU), nsp=True)
    assert metrics["mlm_loss"] == pytest.approx(math.log(model.encoder.vocab_size), abs=1e-5)
    assert metrics["nsp_loss"] == pytest.approx(math.log(2), abs=1e-5)
    assert metrics["mlm_accuracy"] == 0.0  # of equal logits the first wins, and [PAD] is never masked


def test_scoring_leaves_mode_and_generators_alone(scored):
    model, validation, special = scored
    model.train()
    before = torch.get_rng_state()
    pretraining_sums(model, validation, special, CPU)
    assert model.training
    assert torch.equal(before, torch.get_rng_state())


def test_sums_become_means_and_what_is_not_there_none():
    sums = {"mlm_loss": 6.0, "mlm_correct": 1, "masked": 4, "nsp_loss": 1.0, "nsp_correct": 3, "pairs": 4}
    metrics = {"mlm_loss": 1.5, "mlm_accuracy": 0.25, "nsp_loss": 0.25, "nsp_accuracy": 0.75, "loss": 1.75}
    assert pretraining_metrics(sums, nsp=True) == metrics
    without = metrics | {"nsp_loss": None, "nsp_accuracy": None, "loss": 1.5}
    assert pretraining_metrics(sums, nsp=False) == without
    assert pretraining_metrics(sums | {"pairs": 0, "nsp_loss": 0.0, "nsp_correct": 0}, nsp=True) == without


def test_perplexity_of_an_absurd_loss_is_none():
    assert perplexity(math.log(7)) == pytest.approx(7)
    assert perplexity(1000.0) is None


@pytest.mark.parametrize(("label", "accuracy"), [(IS_NEXT, 1.0), (RANDOM, 0.0)])
def test_a_model_that_calls_every_pair_true_is_right_about_those_that_are(scored, label, accuracy):
    model, validation, special = scored
    with torch.no_grad():
        model.nsp.weight.zero_()
        model.nsp.bias.copy_(torch.tensor([1.0, 0.0]))
    pairs = replace(validation, next_sentence_label=np.full(len(validation), label))
    assert pretraining_metrics(pretraining_sums(model, pairs, special, CPU), nsp=True)["nsp_accuracy"] == accuracy
