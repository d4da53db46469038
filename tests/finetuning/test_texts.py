"""Going on with masked tokens before the labels: what is masked, what is kept, what an interruption leaves."""

import shutil

import numpy as np
import pytest
import torch

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json
from maskline.finetuning import learning_curve as learning_curve_module
from maskline.finetuning import run as finetuning_run
from maskline.finetuning.texts import TextsObjective
from maskline.model.directory import load_pretraining_model
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.texts import EncodedTexts
from tests.finetuning.test_learning_curve import curve
from tests.finetuning.test_run import paths, settings, tune
from tests.tiny import SPECIAL
from tests.training.runs import CPU, contents

RATES = {"text_epochs": 2, "text_peak_lr": 0.01, "text_matrix_lr": 0.02}


@pytest.fixture(name="texts")
def _texts(mine):
    """Return the objective of 20 texts of 3 to 12 tokens; every third is a pair."""
    draw = np.random.default_rng(1)
    ids = [np.array([SPECIAL.cls, *draw.integers(5, 97, n), SPECIAL.sep], np.int64) for n in draw.integers(1, 11, 20)]
    seconds = np.array([len(row) - 1 if number % 3 == 0 else len(row) for number, row in enumerate(ids)])
    recipe = settings(text_mask_rate=0.3, **RATES).recipe
    model = load_pretraining_model(mine / "out" / "best")
    texts = EncodedTexts(ids, 0, 0.0, seconds)
    return TextsObjective(model, texts, texts, load_tokenizer(mine / "tokenizer"), recipe, 3, CPU)


def test_every_text_is_masked_once_an_epoch_and_otherwise_in_the_next(texts):
    originals, shown = {tuple(row): number for number, row in enumerate(texts.training.input_ids)}, []
    for epoch in range(2):
        found = {}
        for step in range(epoch * texts.updates(1), (epoch + 1) * texts.updates(1)):
            for batch in texts.microbatches(step):
                restored = batch.input_ids.copy()
                restored.ravel()[batch.masked_positions] = batch.masked_labels
                for row, real, seen, types in zip(
                    restored, batch.attention_mask, batch.input_ids, batch.token_type_ids, strict=True
                ):
                    number = originals[tuple(row[real])]
                    found[number] = seen[real].tolist()
                    begins = texts.training.second_starts[number]
                    assert types[real].tolist() == [int(place >= begins) for place in range(real.sum())]
                assert not set(batch.masked_labels) & set(SPECIAL)
                assert (batch.next_sentence_label == -100).all()
        assert sorted(found) == list(range(20))
        shown.append(found)
    assert shown[0] != shown[1]


def test_a_share_of_the_tokens_is_predicted_whatever_the_batch(texts):
    tokens = texts.training.sizes - 2
    expected = np.maximum(1, np.floor(tokens * 0.3 + 0.5)).sum()
    assert sum(texts.targets(b)["mlm_loss"] for step in range(texts.updates(1)) for b in texts.microbatches(step)) == (
        expected
    )
    seen = sum(texts.targets(b)["tokens"] for step in range(texts.updates(1)) for b in texts.microbatches(step))
    assert seen == texts.training.sizes.sum()
    labels = np.concatenate([batch.masked_labels for batch in texts.microbatches(1)])
    texts.micro_batch = 1
    assert np.concatenate([batch.masked_labels for batch in texts.microbatches(1)]).tolist() == labels.tolist()


def test_the_validation_split_is_scored_under_the_same_masks_at_fifteen_percent(texts, monkeypatch):
    first = texts.evaluate()
    assert texts.evaluate() == first
    assert texts.criterion(first) == first["mlm_loss"]
    counted = []
    real = TextsObjective._masked

    def masked(objective, *arguments):
        counted.append(real(objective, *arguments))
        return counted[-1]

    monkeypatch.setattr(TextsObjective, "_masked", masked)
    texts.evaluate()
    tokens = texts.validation.sizes - 2
    total = sum(len(batch.masked_labels) for batch in counted)
    assert total == np.maximum(1, np.floor(tokens * 0.15 + 0.5)).sum()
    losses = [texts.losses(batch)["mlm_loss"].item() for batch in counted]
    assert first["mlm_loss"] == pytest.approx(sum(losses) / total, rel=1e-5)
    monkeypatch.setattr("maskline.finetuning.texts.BATCH_TOKENS", 12)
    assert texts.evaluate() == pytest.approx(first, rel=1e-5)


def test_the_network_starts_from_the_best_epoch_on_texts(mine, monkeypatch):
    given, scores = [], iter([4.0, 2.0, 3.0])  # before, after the first epoch, after the second
    weights = []

    def evaluate(objective):
        weights.append({name: w.clone() for name, w in objective.model.encoder.state_dict().items()})
        return {"mlm_loss": next(scores), "mlm_accuracy": 0.5}

    real = finetuning_run.train

    def train(objective, recipe, steps, *rest, **options):
        given.append((objective, recipe, steps))
        if not isinstance(objective, TextsObjective):
            begun.update({name: w.clone() for name, w in objective.model.encoder.state_dict().items()})
        return real(objective, recipe, steps, *rest, **options)

    begun = {}
    monkeypatch.setattr(TextsObjective, "evaluate", evaluate)
    monkeypatch.setattr(finetuning_run, "train", train)
    tune(settings(steps=5, epochs=None, patience=1, **RATES), paths(mine))
    (texts, recipe, steps), (labels, label_recipe, label_steps) = given
    assert (
        steps == recipe.total_steps(texts.updates) == 2 * texts.updates(1)
    )  # neither `steps` nor `patience` of labels
    assert (recipe.peak_lr, recipe.matrix_lr) == (0.01, 0.02)
    assert label_steps == 5
    assert (label_recipe.peak_lr, label_recipe.matrix_lr) == (settings().recipe.peak_lr, settings().recipe.matrix_lr)
    assert texts.training is labels.training.texts
    assert texts.validation is labels.validation.texts
    for name, weight in begun.items():
        assert torch.equal(weight, weights[1][name]), name
    assert not torch.equal(begun["layers.0.up.weight"], weights[2]["layers.0.up.weight"])
    rows = read_json(mine / "tuned" / "reports" / "metrics.json")["texts"]
    assert [row["mlm_loss"] for row in rows] == [4.0, 2.0, 3.0]
    assert [row["epoch"] for row in rows] == [0.0, 1.0, 2.0]


def test_the_texts_are_learned(mine):
    tune(settings(**RATES | {"text_epochs": 6}), paths(mine))
    assert [path.stem for path in (mine.parent / ".timings").iterdir()] == ["finetune@sentiment"]  # of texts and labels
    losses = [row["mlm_loss"] for row in read_json(mine / "tuned" / "reports" / "metrics.json")["texts"]]
    assert min(losses[1:]) < losses[0] - 0.05


def test_dropout_is_that_of_the_recipe(mine, monkeypatch):
    def train(objective, *_, **__):
        rates = {part.p for part in objective.model.modules() if isinstance(part, torch.nn.Dropout)}
        raise UserError(f"{type(objective).__name__} {rates}")

    monkeypatch.setattr(finetuning_run, "train", train)
    with pytest.raises(UserError, match=r"TextsObjective \{0\.25\}"):
        tune(settings(dropout=0.25, **RATES), paths(mine))


def test_an_interrupted_run_goes_on_and_gives_the_same_bytes(mine, stop_at, capsys):
    tune(settings(**RATES), paths(mine, "whole"))
    shutil.rmtree(mine.parent / ".runs")
    stops = (4, 19)  # within the first of two epochs, and within the second
    updates = stop_at(TextsObjective, *stops)
    for stop in stops:
        with pytest.raises(UserError, match=f"interrupted after step {stop} of"):
            tune(settings(**RATES), paths(mine))
    tune(settings(**RATES), paths(mine))
    assert contents(mine / "tuned") == contents(mine / "whole")
    assert updates == list(range(len(updates)))  # no update was made twice
    assert capsys.readouterr().out.count("resuming after step") == 2


def test_random_weights_read_no_texts_and_none_is_none(mine):
    tune(settings(**RATES), paths(mine, "with", "scratch"))
    tune(settings(), paths(mine, "without", "scratch"))
    assert "texts" not in read_json(mine / "with" / "reports" / "metrics.json")
    weights = [contents(mine / name / "sentiment")["model.safetensors"] for name in ("with", "without")]
    assert weights[0] == weights[1]
    tune(settings(), paths(mine, "plain"))
    assert "texts" not in read_json(mine / "plain" / "reports" / "metrics.json")


def test_a_pooler_that_pretraining_did_not_train_is_that_of_the_seed(mine, monkeypatch):
    poolers = []
    real = finetuning_run.train

    def train(objective, *rest, **options):
        poolers.append(objective.model.encoder.pooler.weight.clone())
        return real(objective, *rest, **options)

    monkeypatch.setattr(finetuning_run, "train", train)
    tune(settings(**RATES), paths(mine, "read", pretrained="words"))  # without NSP
    tune(settings(), paths(mine, "plain", pretrained="words"))
    assert torch.equal(poolers[0], poolers[1])
    assert torch.equal(poolers[1], poolers[2])


def test_an_encoder_without_a_head_for_masked_tokens_is_refused(mine):
    tune(settings(), paths(mine))
    shutil.rmtree(mine / "out" / "best")
    shutil.copytree(mine / "tuned" / "sentiment", mine / "out" / "best")
    assert (mine / "out" / "best" / MANIFEST).exists()
    with pytest.raises(
        UserError,
        match=r"has no masked-language-model head: .*, or set text_epochs to 0, in finetune of tasks/sentiment",
    ):
        tune(settings(**RATES), paths(mine, "again"))


def test_a_learning_curve_reads_the_texts_of_all_examples_once_a_seed(mine, monkeypatch):
    read = []
    real = learning_curve_module.learn_texts

    def learn(name, objective, own, *rest):
        read.append((own.seed, len(objective.training.texts)))
        return real(name, objective, own, *rest)

    monkeypatch.setattr(learning_curve_module, "learn_texts", learn)
    rows = curve(mine, sizes=(4, 8), seeds=2, **RATES | {"text_epochs": 1}).rows
    total = max(int(row["labels"]) for row in rows)
    assert read == [(0, total), (1, total)]
