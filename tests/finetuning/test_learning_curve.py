"""Scores by the number of labels: which examples are drawn, what is trained, what is not trained twice."""

import numpy as np
import pytest

from maskline.core.storage import read_csv
from maskline.dataset.read import read_dataset
from maskline.finetuning import learning_curve as module
from maskline.finetuning.learning_curve import _drawn, learning_curve
from maskline.reporting.task_figures import learning_curve as figure
from maskline.tasks.classification.task import make_task
from tests.finetuning.test_run import paths, settings
from tests.training.runs import CPU

RECIPE = {"peak_lr": 0.01, "matrix_lr": 0.01, "epochs": 1, "warmup_steps": 0}


def curve(mine, sizes=(4, 8), seeds=2, **changes):
    return learning_curve("sentiment", make_task, settings(**(RECIPE | changes)), paths(mine), sizes, seeds, CPU)


def test_the_examples_of_a_seed_are_among_those_of_more(mine):
    dataset = read_dataset(mine / "task", "sentiment")
    ids = {
        (size, seed): set(_drawn(dataset, size, seed).splits["train"]["id"])
        for size in (3, 7, 10**6)
        for seed in (0, 1)
    }
    for seed in (0, 1):
        assert len(ids[3, seed]) == 3
        assert ids[3, seed] < ids[7, seed] < ids[10**6, seed] == set(dataset.splits["train"]["id"])
    assert ids[3, 0] != ids[3, 1]
    part = _drawn(dataset, 3, 0)
    assert len(part.splits["validation"]["id"]) == 3
    assert part.splits["test"] == dataset.splits["test"]
    whole, found = dataset.splits["train"], part.splits["train"]
    known = dict(zip(whole["id"], zip(whole["text"], whole["label"], strict=True), strict=True))
    assert [known[id_] for id_ in found["id"]] == list(zip(found["text"], found["label"], strict=True))


def test_each_size_and_seed_has_both_starts_and_the_baselines(mine):
    found = curve(mine)
    total = len(read_dataset(mine / "task", "sentiment").splits["train"]["id"])
    assert found.score == "macro-F1"
    assert [(row["labels"], row["seed"], row["model"]) for row in found.rows] == [
        (str(size), str(seed), model)
        for size in (4, 8, total)
        for seed in (0, 1)
        for model in ("pretrained", "random weights", "tfidf")
    ]
    assert read_csv(mine / "tuned" / "reports" / "curve.csv") == found.rows
    assert all(0 <= float(row["score"]) <= 1 for row in found.rows)
    drawn = figure("sentiment", found.score, found.rows).axes[0]
    assert len(drawn.lines) == 3
    apart = [np.exp(line.get_xdata() - line.get_xdata()[0]) for line in drawn.lines]
    assert [(4 * ratios).round().tolist() for ratios in apart] == [[4, 8, total]] * 3
    first = [float(row["score"]) for row in found.rows if row["model"] == "pretrained"]
    assert drawn.lines[0].get_ydata()[0] == pytest.approx((first[0] + first[1]) / 2)


def test_what_is_measured_is_not_measured_again_until_it_is_of_something_else(mine, monkeypatch):
    trained = []

    def train(title, task, dataset, chosen, recipe, where, *rest):
        if len(trained) == 5 and "stop" not in trained:
            trained.append("stop")
            raise KeyboardInterrupt
        trained.append((len(dataset.splits["train"]["id"]), chosen.seed, where.start))
        return 0.5

    monkeypatch.setattr(module, "_trained", train)
    with pytest.raises(KeyboardInterrupt):
        curve(mine, sizes=(4,))
    curve(mine, sizes=(4,))
    total = len(read_dataset(mine / "task", "sentiment").splits["train"]["id"])
    everything = [(size, seed, model) for size in (4, total) for seed in (0, 1) for model in ("pretrained", "scratch")]
    assert [one for one in trained if one != "stop"] == everything
    rows = curve(mine, sizes=(4,)).rows
    assert len(trained) == 9
    assert len(rows) == 12
    curve(mine, sizes=(4,), peak_lr=0.02)
    assert len(trained) == 17


def test_both_starts_are_what_they_are_called(mine, monkeypatch):
    begun = []
    real = module.prepare

    def prepare(*arguments):
        objective = real(*arguments)
        begun.append({name: tensor.clone() for name, tensor in objective.model.state_dict().items()})
        return objective

    monkeypatch.setattr(module, "prepare", prepare)
    curve(mine, sizes=(), seeds=1)
    pretrained, scratch = begun
    name = "encoder.embeddings.token.weight"
    assert not pretrained[name].equal(scratch[name])
    assert pretrained["classifier.weight"].equal(scratch["classifier.weight"])
