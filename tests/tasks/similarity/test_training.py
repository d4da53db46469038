import random

import numpy as np
import pytest
import torch
import transformers

from maskline.core.storage import read_csv, read_json
from maskline.dataset.read import read_dataset
from maskline.finetuning.score import load_model
from maskline.model.directory import export, read_model
from maskline.model.inputs import layout_of
from maskline.tasks.similarity.pairs import encode_pairs
from maskline.tasks.similarity.task import make_task
from maskline.tasks.similarity.use import open_predictor
from maskline.tokenization.load import load_tokenizer
from tests.conftest import built_once
from tests.model.test_directory import tokenizer_files
from tests.tasks.similarity.scored import CONTRASTIVE, POSITIVES, params, write, write_pairs
from tests.tasks.similarity.test_model import model as random_model
from tests.tasks.small import CPU, score_as_both, train
from tests.tiny import write_tokenizer

RECIPE = {
    "epochs": 12,
    "optimizer": "adamw",
    "peak_lr": 0.01,
    "dropout": 0.0,
    "max_seq_length": 12,
    "global_batch": 8,
    "micro_batch": 8,
    "warmup_steps": 5,
}
COMMON = {f"finetune.{key}": value for key, value in RECIPE.items()} | {"pairs:finetune.epochs": RECIPE["epochs"]}
SETTINGS = {
    "cosine": params(COMMON),
    "contrastive": params(CONTRASTIVE | COMMON | {"pairs:finetune.positive_from": 5.0}),
    "positives": params(POSITIVES | COMMON),
}
STAGE = "scratch@pairs"


def pairs(count):
    """Return pairs of texts with a score for how many of three words they share; others, w50 and on, mean nothing."""
    draw = random.Random(0)
    made = []
    for _ in range(count):
        words = [draw.sample(range(10, 20), 3) for _ in range(2)]
        if draw.random() < 0.6:
            words[1] = [*words[0][:2], *words[1][:1]]
        shared = len({*words[0]} & {*words[1]})
        first, second = ([f"w{word}" for word in draw.sample(part, 3)] for part in words)
        made.append(
            (" ".join(first), " ".join([*second, *(f"w{n}" for n in draw.sample(range(50, 90), 2))]), shared / 3 * 5)
        )
    return made


@pytest.fixture(name="trained", scope="module")
def _trained(tmp_path_factory):
    """Return a folder with a tokenizer, tasks, and the models that were trained on them from random weights."""

    def build(root):
        write_tokenizer(root / "tokenizer")
        path = write_pairs(root / "pairs.jsonl", pairs(200))
        alike = write_pairs(root / "alike.jsonl", [pair for pair in pairs(200) if pair[2] > 3])
        for name, settings in SETTINGS.items():
            chosen = (alike, POSITIVES) if name == "positives" else (path, None)
            fractions = {"validation_fraction": 0.15, "test_fraction": 0.15}
            write(root / name / "task", chosen[0], changes=chosen[1], **fractions)
            train(root, "pairs", make_task, settings, name)

    return built_once(tmp_path_factory, "similarity", build)


def task_of(root, name):
    dataset = read_dataset(root / name / "task", "pairs")
    return make_task(SETTINGS[name].task("pairs").finetune, dataset.manifest), dataset


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_to_be_learned_is_learned(trained, name):
    task, dataset = task_of(trained, name)
    encoded = task.encode(dataset.splits["train"], load_tokenizer(trained / "tokenizer"), 12)
    scores = {}
    for kind, model in (
        ("trained", load_model(task, trained / name / "model", STAGE, trained / name / "task")),
        ("random", random_model()),
    ):
        scores[kind] = task.scores(encoded, task.predict(model, encoded, CPU))
    assert scores["trained"]["loss"] < 0.75 * scores["random"]["loss"]
    assert scores["trained"][task.criterion] > scores["random"][task.criterion] + 0.1


@pytest.mark.parametrize(
    ("name", "columns"), [("cosine", ["spearman", "pearson"]), ("positives", ["mrr", "accuracy_at_1"])]
)
def test_a_run_leaves_curves_and_numbers(trained, name, columns):
    validation = read_csv(trained / name / "reports" / "validation.csv")
    assert list(validation[0]) == ["step", "epoch", "loss", *columns]
    best = max(validation, key=lambda row: float(row[columns[0]]))
    metrics = read_json(trained / name / "reports" / "metrics.json")
    assert metrics["best"] == {name: float(value) for name, value in best.items()}


def test_the_contrastive_objective_counts_epochs_of_what_it_trains_on(trained):
    train = read_dataset(trained / "contrastive" / "task", "pairs").splits["train"]["score"]
    positives = sum(score >= 5 for score in train)
    assert 8 < positives < len(train) / 2
    metrics = read_json(trained / "contrastive" / "reports" / "metrics.json")
    epochs = SETTINGS["contrastive"].task("pairs").finetune.epochs
    assert metrics["steps"] == epochs * -(-positives // 8)
    assert metrics["examples"]["train"] == len(train)


TEXTS = ["w10 w11", "", "w12", "[SEP] w10 [MASK]", "w10 w11 w12 " * 20, "W10\u00a0 W11", "unknown words"]


def test_the_model_is_that_of_transformers_and_of_sentence_transformers(trained):
    from sentence_transformers import SentenceTransformer

    directory = trained / "cosine" / "model"
    theirs, info = transformers.BertModel.from_pretrained(directory, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert not info["mismatched_keys"]
    saved = read_model(directory, STAGE)
    model = random_model()
    saved.copy_into(model)
    tokenizer = load_tokenizer(trained / "tokenizer")
    texts = encode_pairs([TEXTS], tokenizer, 32).texts
    with torch.no_grad():
        packed = texts.packed(np.arange(len(texts)))
        ours = model.eval()(torch.from_numpy(packed.input_ids), layout_of(packed.lengths, CPU)).numpy()
        one = theirs.eval()(torch.from_numpy(texts.input_ids[3])[None]).last_hidden_state[0].mean(0)
    np.testing.assert_allclose(one.numpy(), ours[3], atol=1e-5, rtol=0)
    sentences = SentenceTransformer(str(directory), device="cpu")
    found = sentences.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(found[:5], ours[:5], atol=1e-5, rtol=0)
    np.testing.assert_allclose(found[5], ours[0], atol=1e-5, rtol=0)
    np.testing.assert_allclose(found[6], ours[5], atol=1e-5, rtol=0)
    assert sentences.max_seq_length == 32
    near = sentences.similarity(found[:1], found[2:3]).item()
    predicted = open_predictor(saved, tokenizer, CPU).predict([{"sentence1": TEXTS[0], "sentence2": TEXTS[2]}])
    assert predicted.rows[0]["similarity"] == pytest.approx(near, abs=1e-5)


def test_the_directory_has_no_heads(trained):
    names = {path.name for path in (trained / "cosine" / "model").iterdir()}
    assert "heads.safetensors" not in names
    saved = read_model(trained / "cosine" / "model", STAGE)
    assert {name.split(".")[0] for name in saved.weights} == {"bert"}
    assert saved.config["maskline"] == {"kind": "similarity"}


def scored(trained, tmp_path, name):
    def pretrain(directory):
        export(directory, random_model(), "BertModel", tokenizer_files(trained / "tokenizer"), "# card", {})

    recipe = SETTINGS[name].task("pairs").finetune
    return score_as_both(trained, tmp_path, "pairs", make_task, recipe, name, pretrain)


def test_the_task_is_scored_beside_what_it_is_held_against(trained, tmp_path):
    folder, result = scored(trained, tmp_path, "cosine")
    assert list(result.metrics) == [
        *("loss", "spearman", "pearson", "scratch_loss", "scratch_spearman", "scratch_pearson"),
        *(f"{rule}_{name}" for rule in ("pretrained", "embeddings", "tfidf") for name in ("spearman", "pearson")),
        *(f"{name}_{end}" for name in ("spearman", "pearson") for end in ("low", "high")),
        "examples",
    ]
    assert result.metrics["spearman"] == result.metrics["scratch_spearman"] > result.metrics["pretrained_spearman"]
    assert result.metrics["tfidf_spearman"] > 0.5  # shared words are all that there is
    assert result.warnings == []
    report = read_json(folder / "score" / "report.json")
    assert report["headlines"][0] == {
        "metric": "spearman",
        "name": "Spearman",
        "better": "higher",
        "against": {
            "scratch_spearman": "without pretraining",
            "pretrained_spearman": "the encoder as pretrained",
            "embeddings_spearman": "averaged token embeddings",
            "tfidf_spearman": "TF-IDF cosine",
        },
        "count": "examples",
    }
    test = read_dataset(trained / "cosine" / "task", "pairs").splits["test"]
    assert [float(row["score"]) for row in read_csv(folder / "score" / "pairs.csv")] == test["score"]
    predictions = read_csv(folder / "score" / "predictions.csv")
    assert [row["id"] for row in predictions] == test["id"]
    assert not any(word in (folder / "score" / "predictions.csv").read_text() for word in ("w10", "w11"))


def test_pairs_without_scores_are_scored_by_what_is_found(trained, tmp_path):
    _, result = scored(trained, tmp_path, "positives")
    assert {"mrr", "mrr_low", "tfidf_mrr", "pretrained_accuracy_at_1", "accuracy_at_1_high"} <= result.metrics.keys()
    assert result.metrics["mrr_low"] <= result.metrics["mrr"] <= result.metrics["mrr_high"]
