"""What a command hands to the function that it calls: directories at their places, settings of their sections."""

import shutil
from pathlib import Path

import pytest

from maskline.evaluation import report as evaluation
from maskline.finetuning import run as finetuning
from maskline.pretraining import run as pretraining
from maskline.reporting import figures
from maskline.settings.params import load
from maskline.shards import write as shards
from maskline.vocabulary import learn as vocabulary
from pipeline import evaluate, finetune, plot, pretrain, scratch, tokenize, tokenizer
from tests.project import change

DATA, MODELS, REPORTS = Path("data"), Path("data/models"), Path("reports")


class CalledError(Exception):
    """What the function was called with, in place of its work."""


def called(monkeypatch, module, function, command, *arguments):
    """Return the positional and the named arguments that `command` calls a function with."""

    def note(*values, **named):
        raise CalledError(values, named)

    monkeypatch.setattr(module, function, note)
    with pytest.raises(CalledError) as found:
        command(*arguments)
    return found.value.args


@pytest.fixture(autouse=True)
def _here(tiny_project, tmp_path, monkeypatch):
    """Be in a folder of settings alone, of a language that no default names."""
    shutil.copy(tiny_project / "params.yaml", tmp_path)
    shutil.copytree(tiny_project / "tasks", tmp_path / "tasks")
    change(tmp_path, {"corpus.language": "de", "seed": 7, "premask.seed": 3, "pretrain.nsp": False})
    monkeypatch.chdir(tmp_path)


def test_pretraining_reads_the_train_split_and_writes_the_best_and_the_last_model(monkeypatch):
    (settings, paths, _), _ = called(monkeypatch, pretraining, "pretrain", pretrain.main)
    assert vars(paths) == {
        "tokens": DATA / "tokens" / "train",
        "validation": DATA / "validation",
        "tokenizer": DATA / "tokenizer",
        "best": MODELS / "pretrained",
        "last": MODELS / "pretrained-last",
        "reports": REPORTS / "pretrain",
    }
    assert settings == load().pretraining()


def test_the_best_pretrained_model_is_scored(monkeypatch):
    (paths, _, samples), named = called(monkeypatch, evaluation, "evaluate", evaluate.main)
    assert vars(paths) == {
        "tokens": DATA / "tokens" / "train",
        "validation": DATA / "validation",
        "tokenizer": DATA / "tokenizer",
        "model": MODELS / "pretrained",
        "reports": REPORTS / "evaluate",
        "also": None,
        "init_from": None,
    }
    assert (samples, named) == (3, {"nsp": False})


@pytest.mark.parametrize(
    ("command", "model", "start"),
    [(finetune, "sentiment", MODELS / "pretrained"), (scratch, "sentiment-scratch", None)],
)
def test_a_task_is_trained_from_the_best_pretrained_model_and_from_none(monkeypatch, command, model, start):
    (name, _, settings, paths, _), _ = called(monkeypatch, finetuning, "finetune", command.main, "sentiment")
    stage = command.__name__.removeprefix("pipeline.")
    assert vars(paths) == {
        "data": DATA / "tasks" / "sentiment",
        "tokenizer": DATA / "tokenizer",
        "model": MODELS / model,
        "reports": REPORTS / "tasks" / "sentiment" / stage,
        "pretrained": start,
    }
    assert (name, settings) == ("sentiment", load().finetuning("sentiment"))


def test_sentences_and_words_are_those_of_the_language_of_the_corpus(monkeypatch):
    values, named = called(monkeypatch, shards, "write_splits", tokenize.main)
    assert values == (DATA / "corpus", DATA / "tokenizer", DATA / "tokens", REPORTS / "tokenize")
    settings = load()
    assert named == {"language": "de", "shard_tokens": settings.tokenize.shard_tokens, "workers": 1}
    values, _ = called(monkeypatch, vocabulary, "learn", tokenizer.main)
    assert values == (settings.tokenizer, "de", DATA / "corpus", DATA / "tokenizer", REPORTS / "tokenizer", None)


def test_both_stages_of_training_have_the_seed_of_the_run():
    settings = load()
    assert settings.pretraining().seed == settings.finetuning("sentiment").seed == 7


def test_the_figures_are_those_of_the_tasks_that_are_switched_on(monkeypatch):
    for name in ("mood", "tone"):
        shutil.copy("tasks/sentiment.yaml", f"tasks/{name}.yaml")
    change(Path(), {"tasks": {"tone": "classification", "mood": "classification"}})
    values, _ = called(monkeypatch, figures, "plot_reports", plot.main)
    assert values == (REPORTS, ["tone", "mood"], REPORTS / "figures")
