import random
import shutil

import pytest
import torch
import transformers

from maskline.core.storage import read_csv, read_json
from maskline.dataset.read import read_dataset
from maskline.finetuning.score import load_model
from maskline.model.directory import load_encoder, read_model
from maskline.tasks.tokens.model import logits_of
from maskline.tasks.tokens.task import make_task
from maskline.tokenization.load import load_tokenizer
from tests.conftest import built_once
from tests.tasks.small import CPU, score_as_both, train
from tests.tasks.tokens.tagged import LABELS, params, write, write_sentences
from tests.tiny import write_tokenizer

FIGURES = ["f1", "precision", "recall", "exact_f1", "partial_f1"]
RECIPE = {
    "epochs": 16,
    "optimizer": "adamw",
    "peak_lr": 0.01,
    "dropout": 0.0,
    "max_seq_length": 32,  # all of them fit
    "global_batch": 8,
    "micro_batch": 3,
    "warmup_steps": 5,
}
SETTINGS = params({f"finetune.{key}": value for key, value in RECIPE.items()})


def sentences(count):
    """Return sentences with names of w10 to w14, which w15 to w19 go on: of persons after w7, of places after w8.

    w5-w6 is a word of several pieces.
    """
    draw = random.Random(0)
    made = []
    for _ in range(count):
        first, name = draw.choice([("w7", "PER"), ("w8", "LOC")])
        words, tags = [first], ["O"]
        for _ in range(draw.randint(1, 4)):
            length = draw.randint(1, 3)
            words += [f"w{draw.randint(10, 14)}", *(f"w{draw.randint(15, 19)}" for _ in range(length - 1))]
            tags += [f"B-{name}", *[f"I-{name}"] * (length - 1)]
            words += [draw.choice(["w5-w6", "w9"]) for _ in range(draw.randint(0, 1))]
            tags += ["O"] * (len(words) - len(tags))
        made.append((words, tags))
    return made


@pytest.fixture(name="trained", scope="module")
def _trained(tmp_path_factory):
    """Return a folder with a tokenizer, a task and the model that was trained on it from random weights."""

    def build(root):
        write_tokenizer(root / "tokenizer")
        path = write_sentences(root / "sentences.jsonl", sentences(90))
        write(root / "task", path, validation_fraction=0.1, test_fraction=0.1)
        train(root, "ner", make_task, SETTINGS)

    return built_once(tmp_path_factory, "tagger", build)


def task_of(root):
    dataset = read_dataset(root / "task", "ner")
    return make_task(SETTINGS.task("ner").finetune, dataset.manifest), dataset


def test_what_is_to_be_learned_is_learned(trained):
    task, dataset = task_of(trained)
    model = load_model(task, trained / "model", "scratch@ner", trained / "task")
    tokenizer = load_tokenizer(trained / "tokenizer")
    encoded = task.encode(dataset.splits["train"], tokenizer, 32)
    scores = task.scores(encoded, task.predict(model, encoded, CPU))
    assert scores["loss"] < 0.25
    assert min(scores[name] for name in FIGURES) > 0.95


def test_a_run_leaves_curves_and_numbers(trained):
    validation, train = (read_csv(trained / "reports" / f"{name}.csv") for name in ("validation", "train"))
    assert list(validation[0]) == ["step", "epoch", "loss", *FIGURES]
    assert list(train[0]) == ["step", "epoch", "tokens", "lr", "loss", "grad_norm"]
    metrics = read_json(trained / "reports" / "metrics.json")
    best = max(validation, key=lambda row: float(row["f1"]))
    assert metrics["best"] == {name: float(value) for name, value in best.items()}
    assert metrics["examples"]["train"] == len(read_dataset(trained / "task", "ner").splits["train"]["words"])


def test_the_model_is_that_of_transformers(trained):
    theirs, info = transformers.BertForTokenClassification.from_pretrained(trained / "model", output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert not info["mismatched_keys"]
    assert theirs.config.id2label == dict(enumerate(LABELS))
    task, dataset = task_of(trained)
    mine = load_model(task, trained / "model", "scratch@ner", trained / "task").eval()
    words = dataset.splits["test"]["words"][:3]
    tokenizer = transformers.AutoTokenizer.from_pretrained(trained / "model")
    batch = tokenizer(words, is_split_into_words=True, padding=True, return_tensors="pt")
    first = [
        [place for place, word in enumerate(of_token) if word is not None and word not in of_token[:place]]
        for of_token in (batch.word_ids(row) for row in range(len(words)))
    ]
    assert sum(map(len, first)) == sum(map(len, words))
    with torch.no_grad():
        logits = theirs.eval()(**batch).logits
        encoded = task.encode(dataset.splits["test"], load_tokenizer(trained / "tokenizer"), 32)
        ours = logits_of(mine, task.batch(encoded, range(3)).words, CPU)
    assert len({len(row) for row in words}) > 1
    torch.testing.assert_close(
        torch.cat([logits[row, places] for row, places in enumerate(first)]), ours, atol=1e-5, rtol=0
    )


def test_the_pooler_that_nothing_trained_stays_out(trained):
    names = read_model(trained / "model", "scratch@ner").weights
    assert not any("pooler" in name for name in names)
    assert "classifier.weight" in names
    load_encoder(trained / "model", "scratch@ner")


def scored(trained, tmp_path, recipe):
    def pretrain(directory):
        shutil.copytree(trained / "model", directory)

    return score_as_both(trained, tmp_path, "ner", make_task, recipe, pretrain=pretrain)


def test_the_task_is_scored_beside_what_it_is_held_against(trained, tmp_path):
    folder, result = scored(trained, tmp_path, SETTINGS.task("ner").finetune)
    assert list(result.metrics) == [
        *("loss", "precision", "recall", "f1", "exact_f1", "partial_f1"),
        *(f"scratch_{name}" for name in ("loss", "precision", "recall", "f1", "exact_f1", "partial_f1")),
        *(f"probe_{name}" for name in ("precision", "recall", "f1", "exact_f1", "partial_f1")),
        *(f"frequent_{name}" for name in ("precision", "recall", "f1", "exact_f1", "partial_f1")),
        *(f"{name}_{end}" for name in ("f1", "precision", "recall") for end in ("low", "high")),
        "examples",
    ]
    assert result.metrics["f1"] == result.metrics["scratch_f1"] > result.metrics["frequent_f1"] > 0
    assert result.metrics["probe_f1"] > result.metrics["frequent_f1"]  # that encoder was trained on the tags
    assert result.warnings == []
    report = read_json(folder / "score" / "report.json")
    assert report["headlines"][0] == {
        "metric": "f1",
        "name": "entity F1",
        "better": "higher",
        "against": {
            "scratch_f1": "without pretraining",
            "probe_f1": "frozen encoder, regression on words",
            "frequent_f1": "most frequent tag of each word",
        },
        "count": "examples",
    }
    assert [curve["column"] for curve in report["curves"]] == FIGURES
    rows = read_csv(folder / "score" / "types.csv")
    assert [row["type"] for row in rows] == ["LOC", "PER"]
    assert sum(int(row["support"]) for row in rows) == sum(
        tag in {LABELS.index("B-LOC"), LABELS.index("B-PER")}
        for tags in read_dataset(trained / "task", "ner").splits["test"]["tags"]
        for tag in tags
    )


def test_longer_sentences_are_read_in_windows_and_none_is_cut(trained, tmp_path):
    _, whole = scored(trained, tmp_path / "whole", SETTINGS.task("ner").finetune)
    recipe = SETTINGS.task("ner").finetune.model_copy(update={"max_seq_length": 8})
    _, windows = scored(trained, tmp_path / "windows", recipe)
    assert windows.warnings == whole.warnings == []
    assert (
        0.5 < windows.metrics["recall"] < whole.metrics["recall"]
    )  # the word that tells the type is in another window


def test_a_word_that_is_longer_than_the_model_reads_is_counted(trained, tmp_path):
    _, result = scored(trained, tmp_path, SETTINGS.task("ner").finetune.model_copy(update={"max_seq_length": 4}))
    test = read_dataset(trained / "task", "ner").splits["test"]["words"]
    cut = sum("w5-w6" in words for words in test)  # three pieces, and two fit
    assert result.warnings == [f"ner: {cut} of {len(test)} test examples are longer than 4 tokens and were cut"]
