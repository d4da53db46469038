import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_csv, read_json, read_manifest, write_json, write_manifest
from maskline.dataset.read import read_dataset
from maskline.finetuning.score import score
from maskline.model.directory import CONFIG, WEIGHTS
from maskline.reporting.scores import to_scores
from maskline.reporting.tables import result_rows
from maskline.settings.params import load
from maskline.tasks.classification.baselines import POOLED
from maskline.tasks.classification.task import Classification, make_task
from maskline.tokenization.load import load_tokenizer
from maskline.vocabulary.save import save
from maskline.vocabulary.wordpiece import train
from tests.tiny import tokenizer_params
from tests.training.runs import CPU, contents

LABELS = ["negative", "positive"]


@pytest.fixture(name="data")
def _data(tiny_project, tmp_path):
    return shutil.copytree(tiny_project / "data", tmp_path / "data")


@pytest.fixture(name="recipe", scope="module")
def _recipe(tiny_project):
    return load(tiny_project / "params.yaml").task("sentiment").finetune


def scored(data, recipe, reports="reports", **changes):
    models = {"pretrained": data / "models" / "sentiment", "scratch": data / "models" / "sentiment-scratch"}
    folder = data.parent / reports
    return score(
        "sentiment",
        make_task,
        recipe.model_copy(update=changes),
        data / "tasks" / "sentiment",
        data / "tokenizer",
        data / "models" / "pretrained",
        "imported@encoder",
        models,
        folder,
        folder / "score",
        CPU,
    )


def change_weights(directory, **values):
    """Fill weights of the head with other values."""
    weights = load_file(directory / WEIGHTS)
    for name, value in values.items():
        weights[f"classifier.{name}"] = torch.tensor(value).expand_as(weights[f"classifier.{name}"]).contiguous()
    save_file(weights, directory / WEIGHTS, {"format": "pt"})
    write_manifest(directory, {"inputs": read_json(directory / MANIFEST)["inputs"]})


def strict(path):
    def refuse(constant):
        raise ValueError(constant)

    return json.loads(path.read_text(), parse_constant=refuse)


def test_a_task_stands_beside_what_it_is_held_against(data, recipe):
    result = scored(data, recipe)
    reports = data.parent / "reports"
    metrics = strict(reports / "metrics.json")
    assert metrics == result.metrics
    assert list(metrics) == [
        *("loss", "accuracy", "macro_f1", "scratch_loss", "scratch_accuracy", "scratch_macro_f1"),
        *("probe_accuracy", "probe_macro_f1", "tfidf_accuracy", "tfidf_macro_f1", "majority_accuracy"),
        *(f"{name}_{end}" for name in ("accuracy", "macro_f1") for end in ("low", "high")),
        "examples",
    ]
    for name in ("accuracy", "macro_f1"):
        assert metrics[f"{name}_low"] <= metrics[name] <= metrics[f"{name}_high"]
    assert metrics.pop("examples") == read_json(data / "tasks" / "sentiment" / MANIFEST)["splits"]["test"]["examples"]
    assert all(isinstance(value, float) for value in metrics.values())
    assert metrics["tfidf_accuracy"] == metrics["tfidf_macro_f1"] == 1.0  # one word tells the classes apart
    counts = read_json(data / "tasks" / "sentiment" / MANIFEST)["splits"]["test"]
    assert metrics["majority_accuracy"] == counts["labels"]["positive"] / counts["examples"]
    confusion = read_csv(reports / "score" / "confusion.csv")
    assert [(row["label"], row["predicted"]) for row in confusion] == [(a, b) for a in LABELS for b in LABELS]
    assert sum(int(row["count"]) for row in confusion) == counts["examples"]
    right = sum(int(row["count"]) for row in confusion if row["label"] == row["predicted"])
    assert right / counts["examples"] == metrics["accuracy"]
    classes = read_csv(reports / "score" / "classes.csv")
    assert list(classes[0]) == ["label", "precision", "recall", "f1", "support"]
    for number, row in enumerate(classes):
        there = [int(cell["count"]) for cell in confusion if cell["label"] == row["label"]]
        assert int(row["support"]) == sum(there) == counts["labels"][row["label"]]
        assert float(row["recall"]) == there[number] / sum(there)
    assert np.mean([float(row["f1"]) for row in classes]) == pytest.approx(metrics["macro_f1"])
    read_manifest(reports / "score", "score@sentiment")


def test_the_report_names_what_to_look_at_and_what_it_is_held_against(data, recipe):
    result = scored(data, recipe)
    report = strict(data.parent / "reports" / "score" / "report.json")
    tfidf, scratch = "TF-IDF of words, regression", "without pretraining"
    probe = report["headlines"][0]["against"]["probe_accuracy"]
    assert probe in {f"frozen encoder, regression on {vectors}" for vectors in POOLED.values()}
    assert report == {
        "title": "sentiment",
        "headlines": [
            {
                "metric": "accuracy",
                "name": "accuracy",
                "better": "higher",
                "against": {
                    "scratch_accuracy": scratch,
                    "probe_accuracy": probe,
                    "tfidf_accuracy": tfidf,
                    "majority_accuracy": "majority class",
                },
                "count": "examples",
            },
            {
                "metric": "macro_f1",
                "name": "macro-F1",
                "better": "higher",
                "against": {"scratch_macro_f1": scratch, "probe_macro_f1": probe, "tfidf_macro_f1": tfidf},
                "count": "examples",
            },
        ],
        "figures": [
            {
                "name": "confusion",
                "shape": "matrix",
                "table": "confusion.csv",
                "title": "confusion",
                "x": "predicted",
                "y": "label",
                "value": "count",
            }
        ],
        "curves": [{"column": "accuracy", "name": "accuracy"}, {"column": "macro_f1", "name": "macro-F1"}],
    }
    named = {key for line in report["headlines"] for key in (line["metric"], *line["against"])}
    assert named <= result.metrics.keys()


def test_each_model_is_scored_under_its_own_prefix_and_one_that_names_one_class_is_called_out(data, recipe):
    change_weights(data / "models" / "sentiment", weight=0.0, bias=[10.0, 0.0])
    change_weights(data / "models" / "sentiment-scratch", weight=0.0, bias=[0.0, 10.0])
    result = scored(data, recipe)
    counts = read_json(data / "tasks" / "sentiment" / MANIFEST)["splits"]["test"]
    negative = counts["labels"]["negative"] / counts["examples"]
    assert result.metrics["accuracy"] == negative != 0.5
    assert result.metrics["macro_f1"] == pytest.approx(negative / (1 + negative))
    assert result.metrics["loss"] == pytest.approx(10 * (1 - negative), abs=1e-3)
    assert result.metrics["scratch_accuracy"] == pytest.approx(1 - negative)
    assert result.metrics["scratch_macro_f1"] == pytest.approx((1 - negative) / (2 - negative))
    assert result.metrics["scratch_loss"] == pytest.approx(10 * negative, abs=1e-3)
    assert result.warnings == [
        "sentiment: every test text is predicted as negative: the accuracy is that of naming one class"
    ]
    assert read_csv(data.parent / "reports" / "score" / "classes.csv")[1] == {
        "label": "positive", "precision": "0.0", "recall": "0.0", "f1": "0.0",
        "support": str(counts["labels"]["positive"]),
    }  # fmt: skip


def test_cut_texts_are_counted(data, recipe):
    total = read_json(data / "tasks" / "sentiment" / MANIFEST)["splits"]["test"]["examples"]
    cut = f"sentiment: {total} of {total} test examples are longer than 4 tokens and were cut"
    assert scored(data, recipe, max_seq_length=4).warnings[0] == cut
    assert not any("cut" in warning for warning in scored(data, recipe, max_seq_length=32).warnings)


def test_a_loss_that_is_no_number_is_none(data, recipe):
    change_weights(data / "models" / "sentiment", bias=[float("nan"), 0.0])
    result = scored(data, recipe)
    assert result.metrics["loss"] is None
    assert result.metrics["scratch_loss"] > 0
    assert strict(data.parent / "reports" / "metrics.json") == result.metrics


def test_again_gives_the_same_bytes(data, recipe):
    for reports in ("first", "second"):
        scored(data, recipe, reports)
    assert contents(data.parent / "first") == contents(data.parent / "second")


def test_the_test_split_is_what_is_scored(data, recipe, monkeypatch):
    seen = []
    real = Classification.encode

    def encode(task, examples, *rest):
        seen.append(examples["text"])
        return real(task, examples, *rest)

    monkeypatch.setattr(Classification, "encode", encode)
    scored(data, recipe)
    assert [len(texts) for texts in seen] == [
        read_json(data / "tasks" / "sentiment" / MANIFEST)["splits"]["test"]["examples"]
    ]


def test_a_further_test_is_scored_beside_the_first_which_stays_as_it_is(data, recipe):
    alone = scored(data, recipe, "alone").metrics
    directory = data / "tasks" / "sentiment"
    manifest, test = read_json(directory / MANIFEST), pq.read_table(directory / "test.parquet")
    some = test.slice(0, len(test) - 1)
    pq.write_table(some, directory / "hard.parquet")
    write_manifest(directory, manifest | {"splits": manifest["splits"] | {"hard": {"examples": len(some)}}})
    result = scored(data, recipe, "both")
    further = result.metrics.pop("further_tests")
    assert result.metrics == alone
    assert list(further) == ["hard"]
    assert further["hard"].keys() == alone.keys()
    assert further["hard"]["examples"] == len(some)
    reports = data.parent / "both" / "score"
    before = data.parent / "alone" / "score"
    for path in before.glob("*"):
        assert path.name in {MANIFEST, "report.json"} or path.read_bytes() == (reports / path.name).read_bytes()
    first, all_of = (strict(where / "report.json") for where in (before, reports))
    count = len(first["headlines"])
    assert all_of == first | {"headlines": all_of["headlines"]}
    assert all_of["headlines"][:count] == first["headlines"]
    for ours, theirs in zip(all_of["headlines"][count:], first["headlines"], strict=True):
        assert ours["metric"] == f"further_tests.hard.{theirs['metric']}"
        assert ours["name"] == f"{theirs['name']}, hard"
        assert list(ours["against"]) == [f"further_tests.hard.{key}" for key in theirs["against"]]
    rows = read_csv(reports / "hard" / "predictions.csv")
    assert rows == read_csv(reports / "predictions.csv")[: len(some)]
    right = sum(row["gold"] == row["predicted"] for row in rows)
    assert further["hard"]["accuracy"] == right / len(some)
    assert sum(int(row["count"]) for row in read_csv(reports / "hard" / "confusion.csv")) == len(some)
    shown = result_rows([to_scores(strict(data.parent / "both" / "metrics.json"), all_of, "", "")])
    assert [row[0] for row in shown][count] == "sentiment accuracy, hard"
    assert shown[count][1].endswith(f", n = {len(some)})")


def another_pretrained(data):
    write_manifest(data / "models" / "pretrained", {"other": True})


def other_tokenizer(data):
    params = tokenizer_params(vocab_size=200)
    save(train(lambda: ["another text"], params, "en"), data / "tokenizer", params, {})


def other_labels(data):
    directory = data / "tasks" / "sentiment"
    write_manifest(directory, read_json(directory / MANIFEST) | {"labels": ["negative", "other"]})


def labels_in_another_order(data):
    directory = data / "models" / "sentiment-scratch"
    labels = {"id2label": {"0": "positive", "1": "negative"}, "label2id": {"positive": 0, "negative": 1}}
    write_json(directory / CONFIG, read_json(directory / CONFIG) | labels)
    write_manifest(directory, {})


def pretrained_in_its_place(data):
    shutil.rmtree(data / "models" / "sentiment")
    shutil.copytree(data / "models" / "pretrained", data / "models" / "sentiment")


def without_a_weight(data):
    path = data / "models" / "sentiment" / WEIGHTS
    weights = load_file(path)
    del weights["classifier.bias"]
    save_file(weights, path, {"format": "pt"})
    write_manifest(path.parent, {})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            another_pretrained,
            r"sentiment was fine-tuned from another model than .*: run `dvc repro finetune@sentiment`$",
        ),
        (other_tokenizer, r"sentiment was made with another tokenizer than .*: run `dvc repro finetune@sentiment`$"),
        (other_labels, r"models/sentiment has id2label .*'1': 'positive'.* .*'1': 'other'.*: run `dvc repro finetune@"),
        (labels_in_another_order, r"models/sentiment-scratch has id2label .*: run `dvc repro scratch@sentiment`$"),
        (pretrained_in_its_place, r"models/sentiment has id2label None, .*: run `dvc repro finetune@sentiment`$"),
        (without_a_weight, r"models/sentiment lacks classifier.bias: "),
        (
            lambda data: shutil.rmtree(data / "models" / "sentiment-scratch"),
            r"models/sentiment-scratch is incomplete \(no manifest.json\): run `dvc repro scratch@sentiment`$",
        ),
        (
            lambda data: shutil.rmtree(data / "models" / "pretrained"),
            r"models/pretrained is incomplete \(no manifest.json\): run `dvc repro imported@encoder`$",
        ),
        (
            lambda data: shutil.rmtree(data / "models" / "sentiment"),
            r"models/sentiment is incomplete \(no manifest.json\): run `dvc repro finetune@sentiment`$",
        ),
        (
            lambda data: shutil.rmtree(data / "tasks" / "sentiment"),
            r"tasks/sentiment is incomplete \(no manifest.json\): run `dvc repro dataset@sentiment`$",
        ),
    ],
)
def test_what_does_not_fit_is_told_in_one_line_and_nothing_is_written(data, recipe, spoil, message):
    spoil(data)
    with pytest.raises(UserError, match=message) as error:
        scored(data, recipe)
    assert "\n" not in str(error.value)
    assert not (data.parent / "reports").exists()


def test_each_case_has_the_id_of_its_example(data, recipe):
    change_weights(data / "models" / "sentiment", weight=0.0, bias=[1.0, 0.0])
    scored(data, recipe)
    test = read_dataset(data / "tasks" / "sentiment", "sentiment").splits["test"]
    rows = read_csv(data.parent / "reports" / "score" / "predictions.csv")
    assert [(row["id"], row["gold"]) for row in rows] == [
        (id_, LABELS[label]) for id_, label in zip(test["id"], test["label"], strict=True)
    ]
    assert {row["predicted"] for row in rows} == {"negative"}  # of the fine-tuned model, and not of the other


def test_baselines_use_the_encoder_as_it_was_pretrained(data, recipe, monkeypatch):
    seen = []

    def baselines(_task, dataset, pretrained):
        seen.append((dataset.splits["test"]["text"], pretrained.directory, pretrained.tokenizer.vocab_size))
        return []

    monkeypatch.setattr(Classification, "baselines", baselines)
    scored(data, recipe)
    tokenizer = load_tokenizer(data / "tokenizer")
    test = read_dataset(data / "tasks" / "sentiment", "sentiment").splits["test"]["text"]
    assert seen == [(test, data / "models" / "pretrained", tokenizer.vocab_size)]


@pytest.mark.parametrize(("model", "stage"), [("sentiment", "finetune"), ("sentiment-scratch", "scratch")])
def test_the_tokenizer_of_each_model_is_checked(data, recipe, model, stage):
    path = data / "models" / model / "tokenizer.json"
    path.write_text(path.read_text() + "\n")
    write_manifest(path.parent, {"inputs": read_json(path.parent / MANIFEST)["inputs"]})
    expected = rf"models/{model} was made with another tokenizer than .*: run `dvc repro {stage}@sentiment`$"
    with pytest.raises(UserError, match=expected):
        scored(data, recipe)
