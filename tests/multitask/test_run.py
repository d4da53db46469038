"""Several tasks on one encoder: what is written, what an interruption changes, and who uses it."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_csv, read_json, sha256
from maskline.dataset.read import read_dataset
from maskline.finetuning.run import Paths as Alone
from maskline.finetuning.run import finetune
from maskline.finetuning.score import load_model, score
from maskline.inference.predict import load_predictor
from maskline.model.directory import WEIGHTS, read_model
from maskline.multitask import run as module
from maskline.multitask.objective import Mixture, MultitaskObjective
from maskline.multitask.run import Paths, train_together
from maskline.tokenization.load import load_tokenizer
from tests.multitask.conftest import FACTORIES, KINDS, params, write_task
from tests.project import ROOT
from tests.training.runs import CPU, contents

ENCODER = "bert.embeddings.word_embeddings.weight"


def paths(data, out="out-together"):
    return Paths(
        data=data / "tasks",
        tokenizer=data / "tokenizer",
        pretrained=data / "out" / "best",
        alone=data / "alone",
        models=data / out / "models",
        reports=data / out / "reports",
    )


def together(mine, out="out-together", **changes):
    chosen = params({f"multitask.{key}": value for key, value in changes.items()}).multitasking()
    return train_together(FACTORIES, chosen, paths(mine, out), CPU)


def test_tasks_of_all_kinds_are_trained_and_each_is_a_model_of_its_own(mine, capsys):
    rows = together(mine, steps=24, weights={"pairs": 2.0})
    reports = mine / "out-together" / "reports"
    assert {path.name for path in reports.iterdir()} == {"train.csv", "validation.csv", "metrics.json", "scores.csv"}
    metrics = read_json(reports / "metrics.json")
    assert sum(metrics["updates"].values()) == metrics["steps"] == 24
    assert min(metrics["updates"].values()) > 0
    assert list(metrics["updates"]) == list(KINDS)
    sizes = {name: len(read_dataset(mine / "tasks" / name, name).splits["train"]["id"]) for name in KINDS}
    assert metrics["examples"] == sizes
    roots = {name: size**0.5 for name, size in sizes.items()}
    assert metrics["shares"] == pytest.approx({name: root / sum(roots.values()) for name, root in roots.items()})
    train, validation = (read_csv(reports / f"{name}.csv") for name in ("train", "validation"))
    assert list(train[0])[4:] == [*(f"{name}_loss" for name in KINDS), "loss", "grad_norm"]
    assert [row["step"] for row in validation] == ["12", "24"]
    decisive = ("sentiment_macro_f1", "pairs_spearman", "ner_f1", "qa_f1")
    for row in validation:
        assert float(row["score"]) == pytest.approx(np.mean([float(row[name]) for name in decisive]))
    best = max(validation, key=lambda row: float(row["score"]))
    assert metrics["best"]["step"] == int(best["step"])
    assert read_csv(reports / "scores.csv")[0].keys() == rows[0].keys()
    assert {row["task"] for row in rows} == set(KINDS)
    assert all(row["alone"] is None for row in rows)

    encoders = {name: load_file(mine / "out-together" / "models" / name / WEIGHTS) for name in KINDS}
    shared = {
        name: next(v for k, v in w.items() if k.endswith("word_embeddings.weight")) for name, w in encoders.items()
    }
    assert all(torch.equal(shared["sentiment"], other) for other in shared.values())
    assert not torch.equal(shared["sentiment"], load_file(mine / "out" / "best" / WEIGHTS)[ENCODER])
    classes = {"sentiment": "SequenceClassification", "ner": "TokenClassification", "qa": "QuestionAnswering"}
    for name, purpose in classes.items():
        loader = getattr(transformers, f"BertFor{purpose}")
        _, info = loader.from_pretrained(mine / "out-together" / "models" / name, output_loading_info=True)
        assert not info["missing_keys"]
        assert not info["unexpected_keys"]
    said = capsys.readouterr().out
    assert f"{metrics['updates']['ner']} steps are of ner, by a share of {metrics['shares']['ner']:.1%}" in said
    assert "multitask: qa is not compared with its training alone: " in said
    card = (mine / "out-together" / "models" / "ner" / "README.md").read_text()
    assert "at once with sentiment, pairs, qa on one encoder" in card


def test_an_interrupted_run_ends_with_the_bytes_of_one_that_was_not(mine, stop_at):
    together(mine, "whole", steps=12, evaluations=3)
    for folder in (mine.parent / ".runs").iterdir():
        folder.rename(mine / f"{folder.name}-done")  # a finished run would only write its files anew
    updates = stop_at(MultitaskObjective, 3, 8)
    for step in (3, 8):
        with pytest.raises(UserError, match=f"interrupted after step {step} of 12"):
            together(mine, "parts", steps=12, evaluations=3)
    together(mine, "parts", steps=12, evaluations=3)
    assert updates == [*range(12)]
    assert contents(mine / "parts") == contents(mine / "whole")


def test_score_and_predict_take_it_for_a_model_trained_alone(mine, tmp_path):
    names = ["sentiment", "ner"]
    changes = {"multitask.tasks": names, "multitask.steps": 10}
    alone = Alone(mine / "tasks" / "sentiment", mine / "tokenizer", mine / "alone" / "sentiment", tmp_path / "r")
    chosen = params(changes)
    start = mine / "out" / "best"
    finetune("sentiment", FACTORIES["sentiment"], chosen.finetuning("sentiment"), _from(alone, start), CPU)
    rows = train_together(FACTORIES, chosen.multitasking(), paths(mine), CPU)
    single = {row["score"]: row["alone"] for row in rows if row["task"] == "sentiment"}
    assert {row["alone"] for row in rows if row["task"] == "ner"} == {None}

    model = mine / "out-together" / "models" / "sentiment"
    result = score(
        "sentiment",
        FACTORIES["sentiment"],
        chosen.task("sentiment").finetune,
        mine / "tasks" / "sentiment",
        mine / "tokenizer",
        start,
        "pretrain",
        {"pretrained": model, "scratch": mine / "alone" / "sentiment"},
        tmp_path / "scored",
        tmp_path / "scored" / "score",
        CPU,
    )
    for row in rows:
        if row["task"] == "sentiment":
            assert row["together"] == pytest.approx(result.metrics[row["score"]], abs=1e-6)
            assert single[row["score"]] == pytest.approx(result.metrics[f"scratch_{row['score']}"], abs=1e-6)
            assert (row["lower"], row["upper"]) == tuple(
                pytest.approx(result.metrics[f"{row['score']}_{end}"]) for end in ("low", "high")
            )
    here = load_predictor(model, CPU).predict([{"text": "w12 w40"}]).rows
    command = [sys.executable, "-m", "pipeline.predict", str(model), "w12 w40"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"text": "w12 w40", **here[0]}
    assert read_json(model / MANIFEST)["inputs"]["pretrained"] == sha256(start / MANIFEST)


def _from(alone, start):
    return Alone(alone.data, alone.tokenizer, alone.model, alone.reports, start)


def test_an_update_moves_the_encoder_and_the_head_of_its_task_alone(mine, monkeypatch):
    drawn = Mixture([0.5, 0.5], 6, 0)
    drawn.tasks[:], drawn.numbers[:] = 0, np.arange(6)
    monkeypatch.setattr(module, "Mixture", lambda *_: drawn)
    monkeypatch.setattr(drawn, "updates", lambda _: [6, 1])
    chosen = params({"multitask.tasks": ["sentiment", "ner"], "multitask.steps": 6}).multitasking()
    begun = {}
    real = module.MultitaskObjective

    def made(*arguments):
        objective = real(*arguments)
        begun.update({name: tensor.clone() for name, tensor in objective.model.state_dict().items()})
        begun["model"] = objective.model
        return objective

    monkeypatch.setattr(module, "MultitaskObjective", made)
    monkeypatch.setattr(module, "_export", lambda *_: None)
    train_together(FACTORIES, chosen, paths(mine), CPU)
    after = begun.pop("model").state_dict()
    assert begun.keys() == after.keys()
    moved = {name for name, tensor in after.items() if not torch.equal(tensor, begun[name])}
    assert "heads.0.classifier.weight" in moved
    assert "encoder.embeddings.token.weight" in moved
    assert not [name for name in moved if name.startswith("heads.1.")]


def test_a_task_whose_labels_changed_is_trained_anew_and_not_held_against_its_former_model(mine, capsys, tmp_path):
    names = ["sentiment", "ner"]
    chosen = params({"multitask.tasks": names, "multitask.steps": 10})
    alone = Alone(mine / "tasks" / "sentiment", mine / "tokenizer", mine / "alone" / "sentiment", tmp_path / "r")
    start = mine / "out" / "best"
    finetune("sentiment", FACTORIES["sentiment"], chosen.finetuning("sentiment"), _from(alone, start), CPU)
    train_together(FACTORIES, chosen.multitasking(), paths(mine), CPU)
    capsys.readouterr()
    for change, reason in (
        ({"sentiment:dataset.labels": ["good", "bad"]}, "sentiment has id2label"),
        ({"sentiment:dataset.test_fraction": 0.3}, "was trained on other examples than those in"),
    ):
        write_task(mine, "sentiment", change)
        rows = train_together(FACTORIES, chosen.multitasking(), paths(mine), CPU)
        said = capsys.readouterr().out
        assert "resuming" not in said
        assert reason in said
        assert "run `dvc repro finetune@sentiment`" in said
        assert all(row["alone"] is None for row in rows)
    labels = read_model(mine / "out-together" / "models" / "sentiment", "multitask").config["id2label"]
    assert labels == {"0": "bad", "1": "good"}
    task = FACTORIES["sentiment"](chosen.task("sentiment").finetune, read_json(mine / "tasks" / "sentiment" / MANIFEST))
    encoded = task.encode(
        read_dataset(mine / "tasks" / "sentiment", "sentiment").splits["test"], load_tokenizer(mine / "tokenizer"), 12
    )
    model = load_model(task, mine / "out-together" / "models" / "sentiment", "multitask", mine / "tasks" / "sentiment")
    assert len(task.predict(model, encoded, CPU)) == len(encoded.texts)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"finetune.method": "lora"}, "finetune.method of sentiment is lora, which leaves the encoder as it is"),
        ({"multitask.power": 1.0, "multitask.steps": 3}, r"none of the 3 steps is of \w+: raise multitask.steps, or"),
    ],
)
def test_what_cannot_be_trained_together_is_told_in_one_line(mine, changes, expected):
    chosen = params(changes).multitasking()
    with pytest.raises(UserError, match=expected) as error:
        train_together(FACTORIES, chosen, paths(mine), CPU)
    assert "\n" not in str(error.value)
    assert not (mine / "out-together").exists()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"tasks": ["ner"]},
            "params.yaml: multitask: tasks has ner alone: give two or more, or train it by `finetune`",
        ),
        ({"tasks": ["ner", "qa", "ner"]}, "params.yaml: multitask: tasks has ner twice"),
        (
            {"tasks": ["ner", "nes"]},
            "params.yaml: multitask.tasks has nes, which is not switched on: `tasks` has senti",
        ),
        ({"tasks": ["ner", "qa"], "weights": {"pairs": 2.0}}, "multitask: weights has pairs, which is none of tasks"),
        ({"power": 2.0}, "params.yaml: multitask.power is 2.0: input should be less than or equal to 1"),
        ({"tasks": []}, r"multitask.tasks is \[\]: name two or more of the tasks that are switched on, sentiment, "),
    ],
)
def test_tasks_that_are_named_wrongly_are_told_in_one_line(changes, expected):
    with pytest.raises(UserError, match=expected) as error:
        params({f"multitask.{key}": value for key, value in changes.items()}).multitasking()
    assert "\n" not in str(error.value)
