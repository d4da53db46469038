"""Fine-tuning that leaves the encoder as it is."""

import shutil

import pytest
import torch
from safetensors.torch import load_file

from maskline.adapters.directory import PRETRAINED, TUNING, is_tuned
from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json, sha256, write_manifest
from maskline.finetuning.objective import FinetuningObjective
from maskline.finetuning.score import load_model, score
from maskline.model.directory import WEIGHTS
from maskline.tasks.classification.task import make_task
from tests.finetuning.test_run import paths, settings, task_of, tune
from tests.tiny import tiny_params
from tests.training.runs import CPU, contents

SIZES = {"bottleneck": 3, "rank": 2, "matrices": ["query", "value", "up"]}
METHODS = ["adapters", "lora", "probe"]
POOLER, HEAD = 16 * 16 + 16, 16 * 2 + 2
ADDED = {
    "adapters": 4 * (16 * 3 + 3 + 3 * 16 + 16) + 2 * 2 * 2 * 16,  # with the LayerNorms
    "lora": 2 * 2 * (2 * (16 + 16) + 16 + 24),
    "probe": 0,
}
LEARNED = {"adapters": 0.65, "lora": 0.35, "probe": 0.63}
"""A loss that is below that of naming the classes by their frequency, 0.66."""


def chosen(method, **changes):
    return settings(method=method, **(SIZES | changes))


@pytest.mark.parametrize("method", METHODS)
def test_the_same_command_gives_the_same_bytes_and_an_interrupted_one_goes_on(mine, stop_at, method):
    tune(chosen(method), paths(mine, "whole"))
    shutil.rmtree(mine.parent / ".runs")
    stops = (9, 21)  # within the first of two epochs, and within the second
    updates = stop_at(FinetuningObjective, *stops)
    for stop in stops:
        with pytest.raises(UserError, match=rf"interrupted after step {stop} of"):
            tune(chosen(method), paths(mine))
    tune(chosen(method), paths(mine))
    assert contents(mine / "tuned") == contents(mine / "whole")
    assert updates == list(range(read_json(mine / "tuned" / "reports" / "metrics.json")["steps"]))


@pytest.mark.parametrize("method", METHODS)
def test_what_is_saved_is_little_and_names_the_encoder(mine, method):
    tune(chosen(method), paths(mine))
    directory, metrics = mine / "tuned" / "sentiment", read_json(mine / "tuned" / "reports" / "metrics.json")
    assert metrics["trained_parameters"] == ADDED[method] + POOLER + HEAD
    (file,) = directory.glob("*.safetensors")
    assert sum(weight.numel() for weight in load_file(file).values()) == metrics["trained_parameters"]
    assert metrics["bytes"] == file.stat().st_size
    assert read_json(directory / MANIFEST)["inputs"][PRETRAINED] == sha256(mine / "out" / "best" / MANIFEST)
    tuning = read_json(directory / TUNING)
    assert (tuning["method"], tuning["encoder"]) == (method, str(mine / "out" / "best"))
    tune(settings(), paths(mine, "full"))
    full = read_json(mine / "full" / "reports" / "metrics.json")
    assert (
        full["trained_parameters"]
        == full["parameters"]
        == metrics["parameters"] - ADDED[method] + (2 * 2 * 2 * 16 if method == "adapters" else 0)
    )
    assert full["bytes"] == (mine / "full" / "sentiment" / WEIGHTS).stat().st_size > 4 * full["parameters"]


@pytest.mark.parametrize("method", METHODS)
def test_what_is_to_be_learned_is_learned_and_scored(mine, method):
    few = SIZES | {"bottleneck": 8, "rank": 4, "epochs": 8, "method_lr": 0.02, "dropout": 0.0, "method": method}
    # Of an encoder that learned next to nothing, what the mean has of the words is enough.
    changes = {f"finetune.{key}": value for key, value in few.items()} | {"sentiment:finetune.pooling": "mean"}
    recipe = tiny_params(changes).finetuning("sentiment")
    tune(recipe, paths(mine))
    assert read_json(mine / "tuned" / "reports" / "metrics.json")["last"]["loss"] < LEARNED[method]
    tune(recipe, paths(mine, start="scratch", out="scratch"))
    models = {"pretrained": mine / "tuned" / "sentiment", "scratch": mine / "scratch" / "sentiment"}
    places = (mine / "task", mine / "tokenizer", mine / "out" / "best", "pretrain")
    result = score("sentiment", make_task, recipe.recipe, *places, models, mine / "r", mine / "r" / "score", CPU)
    assert {"accuracy", "scratch_accuracy", "probe_accuracy"} <= result.metrics.keys()
    write_manifest(mine / "out" / "best", {"other": 1})
    with pytest.raises(UserError, match="was fine-tuned from another model than the one in") as error:
        score("sentiment", make_task, recipe.recipe, *places, models, mine / "r", mine / "r" / "score", CPU)
    assert "\n" not in str(error.value)


def test_random_weights_are_trained_in_full_by_the_common_rates(mine):
    tune(settings(), paths(mine, "whole", "scratch"))
    tune(chosen("lora", method_lr=9.0), paths(mine, "few", "scratch"))
    one, other = (mine / name / "sentiment" for name in ("whole", "few"))
    assert not is_tuned(other)
    assert (one / WEIGHTS).read_bytes() == (other / WEIGHTS).read_bytes()


def test_adamw_trains_at_the_rate_of_the_method(mine, monkeypatch):
    rates = []
    monkeypatch.setattr(
        "maskline.finetuning.run.train", lambda _, recipe, *__: rates.append((recipe.optimizer, recipe.peak_lr))
    )
    for change in (chosen("lora", method_lr=0.125), settings(peak_lr=0.25)):
        with pytest.raises(AttributeError):  # nothing was trained
            tune(change, paths(mine))
    assert rates == [("adamw", 0.125), ("muon", 0.25)]


def test_the_encoder_that_is_loaded_is_the_pretrained_one(mine):
    tune(chosen("lora"), paths(mine))
    directory = mine / "tuned" / "sentiment"
    model = load_model(task_of(mine), directory, "finetune@sentiment", mine / "task", mine / "out" / "best")
    theirs = load_file(mine / "out" / "best" / WEIGHTS)
    assert torch.equal(model.encoder.token_embedding.weight, theirs["bert.embeddings.word_embeddings.weight"])
    assert not torch.equal(model.encoder.pooler.weight, theirs["bert.pooler.dense.weight"])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"finetune.method": "lora", "finetune.text_epochs": 2}, "text_epochs 2 trains the encoder, which method lora"),
        ({"finetune.method": "lora", "finetune.rank": 16}, r"finetune.rank 16 is not below the 16 numbers"),
        (
            {"sentiment:finetune.method": "adapters", "finetune.bottleneck": 16},
            r"tasks/sentiment.yaml: finetune.bottleneck 16 is not below the 16 numbers of a token \(model.hidden\)",
        ),
        ({"finetune.method": "prefix"}, "full"),
    ],
)
def test_what_does_not_fit_is_told_before_any_work(changes, expected):
    with pytest.raises(UserError, match=expected) as error:
        tiny_params(changes)
    assert "\n" not in str(error.value)
