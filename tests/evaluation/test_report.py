import math

import pytest
import torch
from maskline.tasks.examples import SPLITS, read_task

from maskline.core.errors import UserError
from maskline.evaluation.report import _finite, pretraining_report, task_report
from maskline.examples.premasked import read_premasked
from maskline.model.directory import load_classifier, load_pretraining_model
from maskline.model.heads import PretrainingModel
from maskline.shards.store import TokenShards
from maskline.tokenization.load import load_tokenizer

CPU = torch.device("cpu")


@pytest.fixture(name="pretrained")
def _pretrained(tiny_project):
    data = tiny_project / "data"
    model = load_pretraining_model(data / "models" / "pretrained")
    inputs = read_premasked(data / "validation"), TokenShards(data / "tokens" / "train")
    return model, *inputs, load_tokenizer(data / "tokenizer").special, CPU


def test_pretraining_stands_beside_its_baselines(pretrained):
    report = pretraining_report(*pretrained, nsp=True)
    assert list(report["mlm"]) == ["loss", "perplexity", "accuracy", "unigram_loss", "unigram_accuracy"]
    assert list(report["nsp"]) == ["accuracy", "overlap_accuracy", "length_accuracy"]
    assert report["mlm"]["perplexity"] == pytest.approx(math.exp(report["mlm"]["loss"]))
    assert report["mlm"]["unigram_loss"] < math.log(pretrained[0].encoder.vocab_size)
    assert all(0 <= value <= 1 for value in report["nsp"].values())


def test_without_nsp_the_baselines_remain(pretrained):
    with_nsp, without = (pretraining_report(*pretrained, nsp=nsp) for nsp in (True, False))
    assert without == with_nsp | {"nsp": with_nsp["nsp"] | {"accuracy": None}}


def test_a_loss_that_is_no_number_is_none_and_flagged(pretrained):
    model = pretrained[0]
    with torch.no_grad():
        model.mlm.decoder.bias.fill_(math.nan)
    mlm = pretraining_report(*pretrained, nsp=True)["mlm"]
    assert mlm["loss"] is mlm["perplexity"] is None
    assert mlm["diverged"] is True
    assert _finite({"loss": 800.0, "perplexity": None})["diverged"] is True
    assert _finite({"loss": 1.0}) == {"loss": 1.0}


def test_another_vocabulary_is_refused(pretrained):
    model, *rest = pretrained
    size = model.encoder.vocab_size
    other = PretrainingModel(model.encoder.params, size + 1)
    with pytest.raises(UserError, match=f"was made with {size} tokens, the model with {size + 1}"):
        pretraining_report(other, *rest, nsp=True)


@pytest.fixture(name="report_task")
def _report_task(tiny_project):
    data = tiny_project / "data"
    models = {
        start: load_classifier(data / "models" / name)[0]
        for start, name in (("pretrained", "sentiment"), ("scratch", "sentiment-scratch"))
    }
    splits = {split: read_task(data / "tasks" / "sentiment", split) for split in SPLITS}
    tokenizer = load_tokenizer(data / "tokenizer")
    return models, splits, lambda length=16: task_report("sentiment", models, splits, tokenizer, length, CPU)


def test_a_task_stands_beside_its_baselines(report_task):
    _, splits, report = report_task
    result = report()
    assert set(result.metrics) == {
        *("accuracy", "macro_f1", "majority_accuracy", "tfidf_accuracy", "tfidf_macro_f1"),
        *("scratch_accuracy", "scratch_macro_f1"),
    }
    assert result.metrics["tfidf_accuracy"] == 1.0  # one word tells the classes apart
    test = splits["test"]
    assert [(row["label"], row["predicted"]) for row in result.confusion] == [
        (a, b) for a in test.label_names for b in test.label_names
    ]
    assert sum(row["count"] for row in result.confusion) == len(test.texts)
    right = sum(row["count"] for row in result.confusion if row["label"] == row["predicted"])
    assert right / len(test.texts) == result.metrics["accuracy"]
    for number, row in enumerate(result.classes):
        there = [cell["count"] for cell in result.confusion if cell["label"] == row["label"]]
        assert row["support"] == sum(there)
        assert row["recall"] == there[number] / sum(there)


def test_a_model_that_names_one_class_is_called_out(report_task):
    models, _, report = report_task
    with torch.no_grad():
        models["pretrained"].classifier.bias.copy_(torch.tensor([1e4, 0.0]))
        models["scratch"].classifier.bias.copy_(torch.tensor([0.0, 1e4]))
    result = report()
    negative = result.classes[0]["support"] / sum(row["support"] for row in result.classes)
    assert result.metrics["accuracy"] == negative != 0.5
    assert result.metrics["scratch_accuracy"] == pytest.approx(1 - negative)
    assert result.warnings == [
        "sentiment: every test text is predicted as negative: the accuracy is that of naming one class"
    ]
    assert result.classes[1] | {"support": 0} == {
        "label": "positive", "precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0,
    }  # fmt: skip


def test_cut_texts_are_counted(report_task):
    _, splits, report = report_task
    total = len(splits["test"].texts)
    assert f"sentiment: {total} of {total} test texts are longer than 4 tokens and were cut" in report(4).warnings
