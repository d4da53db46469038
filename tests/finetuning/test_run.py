import contextlib
import os
import shutil
import signal

import numpy as np
import pytest
import torch
import transformers
from maskline.tasks.data import write_task
from maskline.tasks.sources import TaskSource
from torch.nn.functional import cross_entropy

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_csv, read_json, sha256, write_text
from maskline.finetuning.run import (
    TRAIN_COLUMNS,
    VALIDATION_COLUMNS,
    ClassificationObjective,
    Labelled,
    Paths,
    class_weights,
    finetune,
    new_classifier,
)
from maskline.model.attention import Layout
from maskline.model.directory import load_classifier, read_model
from maskline.pretraining.run import pretrain
from maskline.tokenization.load import load_tokenizer
from maskline.training import finetuning, loop
from maskline.training.loop import _accumulate
from tests.tiny import SPECIAL, VOCAB_SIZE, tiny_params
from tests.training.runs import CPU, contents, pretraining_paths

LABELS = ["negative", "positive"]


def texts(count, seed=0):
    """Return (text, label): w10 to w19 stand in positive texts alone, w20 to w29 in negative ones."""
    draw = np.random.default_rng(seed)
    pairs = []
    for number in range(count):
        label = int(draw.integers(3) > 0)
        numbers = [10 + 10 * (1 - label) + draw.integers(10), *draw.integers(30, 97, number % 14)]
        pairs.append((" ".join(f"w{number}" for number in numbers), LABELS[label]))
    return pairs


@pytest.fixture(name="pretrained", scope="module")
def _pretrained(data, tmp_path_factory):
    """Return a folder of data, a task and models pretrained with and without NSP."""
    root = shutil.copytree(data, tmp_path_factory.mktemp("pretrained") / "data")
    write_task(root / "task", "sentiment", TaskSource(texts(150), {}, "none"), tiny_params().tasks["sentiment"])
    with contextlib.chdir(root):  # where `.runs` goes
        pretrain(tiny_params(), pretraining_paths(root), CPU)
        pretrain(tiny_params({"pretrain.nsp": False}), pretraining_paths(root, "words"), CPU)
    return root


@pytest.fixture(name="mine")
def _mine(pretrained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(pretrained, tmp_path / "data")


def paths(data, out="tuned", start="out"):
    folder = data / out
    return Paths(
        data=data / "task",
        pretrained=data / start / "best",
        tokenizer=data / "tokenizer",
        finetuned=folder / "sentiment",
        scratch=folder / "sentiment-scratch",
        reports=folder / "reports",
    )


def test_both_starts_leave_a_model_two_curves_and_numbers(mine):
    finetune("sentiment", tiny_params({"finetune.sentiment.epochs": 3}), paths(mine), CPU)
    reports = mine / "tuned" / "reports"
    metrics = read_json(reports / "metrics.json")
    for start, prefix, out in (("pretrained", "", "sentiment"), ("scratch", "scratch-", "sentiment-scratch")):
        train, validation = (read_csv(reports / f"{prefix}{name}.csv") for name in ("train", "validation"))
        assert tuple(train[0]) == TRAIN_COLUMNS
        assert tuple(validation[0]) == VALIDATION_COLUMNS
        assert [row["epoch"] for row in validation] == ["1.0", "2.0", "3.0"]
        best = max(validation, key=lambda row: float(row["macro_f1"]))  # the first of equals
        assert metrics[start]["best"] == {name: float(value) for name, value in best.items()}
        _, info = transformers.BertForSequenceClassification.from_pretrained(
            mine / "tuned" / out, output_loading_info=True
        )
        assert not info["missing_keys"]
        assert not info["unexpected_keys"]
        assert load_classifier(mine / "tuned" / out)[1] == LABELS
        config = read_json(mine / "tuned" / out / "config.json")
        assert config["id2label"] == {"0": "negative", "1": "positive"}
    assert metrics["examples"]["train"] == read_json(mine / "task" / MANIFEST)["splits"]["train"]["examples"]
    assert metrics["cut"]["train"] > 0
    assert metrics["unk_rate"] == {"train": 0.0, "validation": 0.0}


def test_the_best_epoch_on_the_validation_split_is_exported(mine, monkeypatch):
    scores = iter([(0.9, 0.5), (0.8, 0.75), (0.1, 0.7)] * 2)  # the loss goes on falling, decisions get worse
    seen = []

    def evaluate(objective):
        seen.append({name: tensor.clone() for name, tensor in objective.model.state_dict().items()})
        loss, macro_f1 = next(scores)
        return {"loss": loss, "accuracy": macro_f1, "macro_f1": macro_f1}

    monkeypatch.setattr(ClassificationObjective, "evaluate", evaluate)
    finetune("sentiment", tiny_params({"finetune.sentiment.epochs": 3}), paths(mine), CPU)
    model, _ = load_classifier(mine / "tuned" / "sentiment")
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, seen[1][name]), name
    assert read_json(mine / "tuned" / "reports" / "metrics.json")["pretrained"]["best"]["epoch"] == 2


@pytest.mark.parametrize(("optimizer", "matrix_lr"), [("adamw", 0.01), ("muon", 0.05)])
def test_what_is_to_be_learned_is_learned(mine, optimizer, matrix_lr):
    recipe = {"epochs": 8, "optimizer": optimizer, "peak_lr": 0.01, "matrix_lr": matrix_lr, "dropout": 0.0}
    finetune("sentiment", tiny_params({f"finetune.sentiment.{k}": v for k, v in recipe.items()}), paths(mine), CPU)
    assert read_json(mine / "tuned" / "reports" / "metrics.json")["pretrained"]["best"]["accuracy"] > 0.95


def test_the_same_command_gives_the_same_bytes_and_an_interrupted_one_goes_on(mine, monkeypatch, capsys):
    params = tiny_params()
    finetune("sentiment", params, paths(mine, "whole"), CPU)
    assert list((mine.parent / ".runs").iterdir()) == []
    real = ClassificationObjective.microbatches
    updates, stop_at = [], [9, 41]

    def stopping(objective, step):
        updates.append(step)
        if len(updates) in stop_at:  # inside the first model's 32 updates, then inside the second's
            os.kill(os.getpid(), signal.SIGINT)
        return real(objective, step)

    monkeypatch.setattr(ClassificationObjective, "microbatches", stopping)
    for _ in stop_at:
        with pytest.raises(UserError, match=r"interrupted after step \d+ of \d+; run the same command to go on"):
            finetune("sentiment", params, paths(mine), CPU)
    for name in ("train.csv", "validation.csv"):  # the first model is trained, the second begun
        live = [path.read_bytes() for path in mine.parent.glob(f".runs/*/{name}")]
        whole = [(mine / "whole" / "reports" / f"{prefix}{name}").read_bytes() for prefix in ("", "scratch-")]
        assert len(live) == 2
        assert whole[0] in live
        assert any(whole[1].startswith(curve) for curve in live)
    finetune("sentiment", params, paths(mine), CPU)
    assert contents(mine / "tuned") == contents(mine / "whole")
    total = read_json(mine / "tuned" / "reports" / "metrics.json")["pretrained"]["steps"]
    assert len(updates) == 2 * total  # no update was made twice: what was finished stayed so
    assert list((mine.parent / ".runs").iterdir()) == []
    assert capsys.readouterr().out.count("resuming after step") == 3


def test_the_encoder_is_the_pretrained_one(mine):
    params = tiny_params()
    model = new_classifier(params, params.finetune["sentiment"], VOCAB_SIZE, 2)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    finetuning._load(model, mine / "out" / "best", mine / "tokenizer")
    weights = read_model(mine / "out" / "best", "pretrain")[2]
    embedding = weights["bert.embeddings.word_embeddings.weight"]
    assert torch.equal(model.encoder.embeddings.token.weight, embedding)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]) == name.startswith("classifier."), name
    assert model.dropout.p == model.encoder.layers[0].dropout.p == params.finetune["sentiment"].dropout


def test_a_model_pretrained_without_nsp_is_a_start_too(mine):
    params = tiny_params()
    model = new_classifier(params, params.finetune["sentiment"], VOCAB_SIZE, 2)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    finetuning._load(model, mine / "words" / "best", mine / "tokenizer")
    for name, tensor in model.state_dict().items():
        untrained = name.startswith(("classifier.", "encoder.pooler."))
        assert torch.equal(tensor, before[name]) == untrained, name
    finetune("sentiment", params, paths(mine, start="words"), CPU)
    assert read_json(mine / "tuned" / "reports" / "metrics.json")["pretrained"]["steps"] > 0


def test_balanced_weights_by_hand():
    labels = np.array([0] * 6 + [1] * 3 + [2])
    assert class_weights(labels, 3, "balanced").tolist() == pytest.approx([10 / 18, 10 / 9, 10 / 3])
    assert class_weights(labels, 3, "balanced")[labels].mean() == pytest.approx(1)
    assert class_weights(labels, 3, "none").tolist() == [1, 1, 1]


def objective(data, params, weights=(1.0, 1.0)):
    recipe = params.finetune["sentiment"]
    tokenizer = load_tokenizer(data / "tokenizer")
    sets = [finetuning.read_task(data / "task", split) for split in ("train", "validation")]
    training, validation = (
        Labelled(finetuning.encode_texts(part.texts, tokenizer, recipe.max_seq_length), part.labels) for part in sets
    )
    model = new_classifier(params, recipe, VOCAB_SIZE, 2)
    weights = np.array(weights, np.float32)
    return ClassificationObjective(model, training, validation, weights, SPECIAL, recipe, params.seed, CPU)


@pytest.mark.parametrize("micro_batch", [1, 3, 8])
def test_the_loss_is_the_weighted_mean_over_the_step(pretrained, micro_batch):
    params = tiny_params({"finetune.sentiment.micro_batch": micro_batch, "finetune.sentiment.dropout": 0.0})
    weights = [0.3, 2.5]
    tuned = objective(pretrained, params, weights)
    targets, sums = _accumulate(tuned, tuned.microbatches(0), 0, params.finetune["sentiment"], 0)
    rows = np.array(tuned.examples(0))
    assert len(rows) == 8
    logits = []
    with torch.no_grad():
        for row in rows:
            ids = torch.from_numpy(tuned.training.texts.input_ids[row])
            logits.append(tuned.model(ids, torch.zeros_like(ids), Layout.of(torch.tensor([len(ids)]))))
    labels = torch.from_numpy(tuned.training.labels[rows])
    expected = cross_entropy(torch.cat(logits), labels, torch.tensor(weights))
    assert sums["loss"] / targets["loss"] == pytest.approx(expected.item(), abs=1e-5)


def test_an_epoch_reads_every_text_once(pretrained):
    tuned = objective(pretrained, tiny_params())
    for epoch in range(2):
        steps = range(epoch * tuned.steps_per_epoch, (epoch + 1) * tuned.steps_per_epoch)
        assert sorted(row for step in steps for row in tuned.examples(step)) == list(range(len(tuned.training.labels)))
    for step in range(tuned.steps_per_epoch):
        parts = tuned.microbatches(step)
        rows = tuned.examples(step)
        assert np.concatenate([labels for _, labels in parts]).tolist() == tuned.training.labels[rows].tolist()
        ids = [batch.input_ids[i][batch.attention_mask[i]].tolist() for batch, y in parts for i in range(len(y))]
        assert ids == [tuned.training.texts.input_ids[row].tolist() for row in rows]


def test_a_score_that_is_no_number_is_never_best(pretrained):
    tuned = objective(pretrained, tiny_params())
    with torch.no_grad():
        tuned.model.classifier.weight.fill_(torch.nan)
    metrics = loop._finite(tuned.evaluate())
    assert metrics["loss"] is None
    assert tuned.criterion(metrics) is None
    assert tuned.criterion({"loss": 0.5, "macro_f1": 0.75}) == -0.75


def test_the_validation_loss_is_the_mean_over_texts(pretrained):
    tuned = objective(pretrained, tiny_params())
    tuned.model.eval()
    losses = []
    with torch.no_grad():
        for ids, label in zip(tuned.validation.texts.input_ids, tuned.validation.labels, strict=True):
            tokens = torch.from_numpy(ids)
            logits = tuned.model(tokens, torch.zeros_like(tokens), Layout.of(torch.tensor([len(ids)])))
            losses.append(cross_entropy(logits, torch.tensor([label])).item())
    assert tuned.evaluate()["loss"] == pytest.approx(np.mean(losses), abs=1e-5)


def other_tokenizer(mine):
    path = mine / "tokenizer" / "tokenizer.json"
    write_text(path, path.read_text() + "\n")
    manifest = read_json(mine / "tokenizer" / MANIFEST)
    manifest["files"]["tokenizer.json"] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    write_text(mine / "tokenizer" / MANIFEST, str(manifest).replace("'", '"'))


def nothing(mine):
    pass


@pytest.mark.parametrize(
    ("spoil", "changes", "expected"),
    [
        (other_tokenizer, {}, r"best was made with another tokenizer than .*: run `dvc repro pretrain`"),
        (nothing, {"model.layers": 1}, r"best has layers 2, params.yaml says model.layers 1: run `dvc repro pretrain`"),
        (nothing, {"model.activation": "relu"}, r"best has activation gelu, params.yaml says model.activation relu"),
        (nothing, {"model.hidden": 24}, r"best has hidden 16, params.yaml says model.hidden 24"),
        (lambda mine: shutil.rmtree(mine / "out"), {}, r"best is incomplete .*: run `dvc repro pretrain`"),
        (lambda mine: shutil.rmtree(mine / "task"), {}, r"task is incomplete .*: run `dvc repro fetch`"),
        (nothing, {"finetune.sentiment.warmup_steps": 500}, r"warmup_steps 500 leaves nothing of \d+ steps"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(mine, spoil, changes, expected):
    spoil(mine)
    with pytest.raises(UserError, match=expected) as error:
        finetune("sentiment", tiny_params(changes), paths(mine), CPU)
    assert "\n" not in str(error.value)
    assert not (mine / "tuned").exists()
