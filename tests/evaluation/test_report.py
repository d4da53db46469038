import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from maskline.core.errors import UserError
from maskline.core.scores import wilson
from maskline.evaluation import report as module
from maskline.evaluation.baselines import pair_baselines, training_pairs, unigram, validation_pairs
from maskline.evaluation.report import mlm_scores, nats_per_character, pretraining_report
from maskline.examples.pairs import IS_NEXT
from maskline.examples.premasked import read_premasked
from maskline.model.directory import load_pretraining_model
from maskline.model.heads import PretrainingModel
from maskline.pretraining.scores import pretraining_metrics, pretraining_sums
from maskline.shards.store import TokenShards
from maskline.tokenization.load import LoadedTokenizer, load_tokenizer
from tests.theirs import USUAL, write_theirs

CPU = torch.device("cpu")


@pytest.fixture(name="pretrained")
def _pretrained(tiny_project):
    data = tiny_project / "data"
    model = load_pretraining_model(data / "models" / "pretrained")
    inputs = read_premasked(data / "validation"), TokenShards(data / "tokens" / "train")
    return model, *inputs, load_tokenizer(data / "tokenizer"), CPU


def test_pretraining_stands_beside_its_baselines(pretrained):
    report = pretraining_report(*pretrained, nsp=True)
    bounds = ["accuracy_low", "accuracy_high"]
    assert list(report["mlm"]) == [
        *("loss", "perplexity", "nats_per_character", "accuracy", *bounds, "masked_tokens"),
        *("unigram_loss", "unigram_accuracy"),
    ]  # fmt: skip
    assert list(report["nsp"]) == ["accuracy", *bounds, "pairs", "overlap_accuracy", "length_accuracy"]
    for part in report.values():
        assert part["accuracy_low"] <= part["accuracy"] <= part["accuracy_high"]
    validation = pretrained[1]
    assert report["mlm"]["masked_tokens"] == sum(map(len, validation.masked_labels))
    assert report["nsp"].pop("pairs") == (validation.next_sentence_label >= 0).sum()
    assert report["mlm"]["perplexity"] == pytest.approx(math.exp(report["mlm"]["loss"]))
    assert report["mlm"]["unigram_loss"] < math.log(pretrained[0].encoder.vocab_size)
    assert all(0 <= value <= 1 for value in report["nsp"].values())


def test_nats_per_character_are_those_of_the_texts_of_the_masked_tokens(tmp_path):
    """play, ##ful and ! have 4, 3 and 1 characters: 8."""
    backend = Tokenizer.from_file(str(write_theirs(tmp_path / "theirs") / "tokenizer.json"))
    labels = [np.array([backend.token_to_id(piece) for piece in row], np.uint8) for row in (["play", "##ful"], ["!"])]
    tokenizer = LoadedTokenizer(backend, list(USUAL.values()))
    assert nats_per_character(12.0, SimpleNamespace(masked_labels=labels), tokenizer) == 1.5


def test_masked_tokens_alone_have_the_scores_that_they_have_beside_the_baselines(pretrained):
    model, validation, _, tokenizer, device = pretrained
    mlm = pretraining_report(*pretrained, nsp=True)["mlm"]
    assert mlm_scores(model, validation, tokenizer, device) == {
        name: value for name, value in mlm.items() if not name.startswith("unigram")
    }
    characters = tokenizer.characters()[np.concatenate(validation.masked_labels)].sum()
    assert mlm["nats_per_character"] == pytest.approx(mlm["loss"] * mlm["masked_tokens"] / characters)


def test_without_nsp_the_baselines_remain(pretrained):
    with_nsp, without = (pretraining_report(*pretrained, nsp=nsp) for nsp in (True, False))
    absent = dict.fromkeys(("accuracy", "accuracy_low", "accuracy_high"))
    assert without == with_nsp | {"nsp": with_nsp["nsp"] | absent}


def test_a_loss_that_is_no_number_is_none_and_flagged(pretrained):
    model = pretrained[0]
    with torch.no_grad():
        model.mlm.decoder.bias.fill_(math.nan)
    mlm = pretraining_report(*pretrained, nsp=True)["mlm"]
    assert mlm["loss"] is mlm["perplexity"] is None
    assert mlm["diverged"] is True
    with torch.no_grad():
        model.mlm.decoder.bias.zero_()[5] = 1e4
    mlm = pretraining_report(*pretrained, nsp=True)["mlm"]
    assert 1000 < mlm["loss"] < 1e4
    assert mlm["perplexity"] is None  # it overflows
    assert mlm["diverged"] is True


def test_another_vocabulary_is_refused(pretrained):
    model, *rest = pretrained
    size = model.encoder.vocab_size
    other = PretrainingModel(model.encoder.params, size + 1)
    with pytest.raises(UserError, match=f"was made with {size} tokens, the model with {size + 1}"):
        pretraining_report(other, *rest, nsp=True)


def test_the_scores_are_those_of_the_model(pretrained):
    """It calls every pair true, and so is right about all of these."""
    model, validation, shards, tokenizer, device = pretrained
    with torch.no_grad():
        model.nsp.weight.zero_()
        model.nsp.bias.copy_(torch.tensor([1.0, 0.0]))
    pairs = replace(validation, next_sentence_label=np.full(len(validation), IS_NEXT))
    report = pretraining_report(model, pairs, shards, tokenizer, device, nsp=True)
    scores = pretraining_metrics(pretraining_sums(model, pairs, tokenizer.special, device), nsp=True)
    assert (report["mlm"]["loss"], report["mlm"]["accuracy"]) == (scores["mlm_loss"], scores["mlm_accuracy"])
    assert report["nsp"]["accuracy"] == scores["nsp_accuracy"] == 1.0


def test_the_baselines_learn_from_the_training_split_and_answer_for_the_validation_set(pretrained):
    _, validation, shards, tokenizer, _ = pretrained
    report = pretraining_report(*pretrained, nsp=True)
    counts = np.bincount(np.concatenate([shard.tokens for shard in shards]), minlength=shards.vocab_size)
    loss, accuracy = unigram(counts, np.concatenate(validation.masked_labels), tokenizer.special)
    assert (report["mlm"]["unigram_loss"], report["mlm"]["unigram_accuracy"]) == (loss, accuracy)
    training, held_out = training_pairs(shards, 32), validation_pairs(validation)
    expected = pair_baselines(training, held_out)
    assert {name: report["nsp"][name] for name in expected} == expected
    assert expected != pair_baselines(held_out, training)
    assert expected != pair_baselines(held_out, held_out)


def test_the_rules_for_pairs_learn_from_pairs_as_long_as_those_of_the_validation_set(pretrained, monkeypatch):
    model, validation, *rest = pretrained
    lengths = []

    def draw(shards, max_seq_length):
        lengths.append(max_seq_length)
        return training_pairs(shards, max_seq_length)

    monkeypatch.setattr(module, "training_pairs", draw)
    params = validation.manifest["params"] | {"max_seq_length": 24}
    pretraining_report(model, replace(validation, manifest=validation.manifest | {"params": params}), *rest, nsp=True)
    assert lengths == [24]


def test_each_interval_rests_on_its_own_targets(pretrained):
    report = pretraining_report(*pretrained, nsp=True)
    mlm, nsp = report["mlm"], report["nsp"]
    assert (mlm["accuracy_low"], mlm["accuracy_high"]) == wilson(mlm["accuracy"], mlm["masked_tokens"])
    assert (nsp["accuracy_low"], nsp["accuracy_high"]) == wilson(nsp["accuracy"], nsp["pairs"])
    assert mlm["masked_tokens"] != nsp["pairs"]


def test_each_headline_names_what_it_is_held_against_and_rests_on():
    assert {line.metric: (line.better, line.against, line.count) for line in module.HEADLINES} == {
        "mlm.loss": ("lower", {"mlm.unigram_loss": "unigram frequencies"}, "mlm.masked_tokens"),
        "mlm.accuracy": ("higher", {"mlm.unigram_accuracy": "most frequent token"}, "mlm.masked_tokens"),
        "mlm.perplexity": ("lower", {}, None),
        "nsp.accuracy": (
            "higher",
            {"nsp.overlap_accuracy": "word overlap", "nsp.length_accuracy": "sentence lengths"},
            "nsp.pairs",
        ),
    }
