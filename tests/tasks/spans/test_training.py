import dataclasses
import random

import pytest
import torch
import transformers

from maskline.core.errors import UserError
from maskline.core.storage import read_csv, read_json
from maskline.dataset.read import read_dataset
from maskline.finetuning.score import load_model
from maskline.inference.predict import load_predictor
from maskline.model.directory import load_encoder, read_model
from maskline.model.inputs import layout_of
from maskline.tasks.spans.task import make_task
from maskline.tasks.spans.use import PURPOSES, open_predictor
from maskline.tokenization.load import load_tokenizer
from tests.conftest import built_once
from tests.tasks.small import CPU, score_as_both, train
from tests.tasks.spans.asked import params, record, write, write_records
from tests.tiny import write_tokenizer

RECIPE = {
    "optimizer": "adamw",
    "peak_lr": 0.01,
    "dropout": 0.0,
    "max_seq_length": 16,
    "global_batch": 8,
    "micro_batch": 3,
    "warmup_steps": 5,
}
OWN = {"qa:finetune.epochs": 14, "qa:finetune.stride": 6, "qa:finetune.max_answer_tokens": 4}
SETTINGS = params({f"finetune.{key}": value for key, value in RECIPE.items()} | OWN)


def questions(count):
    """Return questions whose answer is what stands between w10 and w11; a third of the contexts has neither."""
    draw = random.Random(0)
    made = []
    for number in range(count):
        context = [f"w{draw.randint(40, 96)}" for _ in range(draw.randint(3, 24))]
        answer = " ".join(f"w{draw.randint(40, 96)}" for _ in range(draw.randint(1, 3)))
        question = f"w{draw.randint(20, 39)} w{draw.randint(20, 39)}"
        if number % 3:
            place = draw.randint(0, len(context))
            context[place:place] = ["w10", answer, "w11"]
        text = " ".join(context)
        given = [(answer, text.index(f"w10 {answer} w11") + 4)] if number % 3 else []
        made.append(record(text, question, *given, id=f"q{number}"))
    return made


@pytest.fixture(name="trained", scope="module")
def _trained(tmp_path_factory):
    """Return a folder with a tokenizer, a task and the model that was trained on it from random weights."""

    def build(root):
        write_tokenizer(root / "tokenizer")
        path = write_records(root / "questions.jsonl", questions(240))
        write(root / "task", path, validation_fraction=0.1, test_fraction=0.1)
        train(root, "qa", make_task, SETTINGS)

    return built_once(tmp_path_factory, "answers", build)


def task_of(root):
    dataset = read_dataset(root / "task", "qa")
    return make_task(SETTINGS.task("qa").finetune, dataset.manifest), dataset


def test_what_is_to_be_learned_is_learned(trained):
    task, dataset = task_of(trained)
    assert task.reading.no_answer
    model = load_model(task, trained / "model", "scratch@qa", trained / "task")
    encoded = task.encode(dataset.splits["train"], load_tokenizer(trained / "tokenizer"), 16)
    predictions = task.predict(model, encoded, CPU)
    assert task.scores(encoded, predictions)["exact_match"] > 0.9
    none = [answer.span is None for answer, gold in zip(predictions.answers, encoded.answers, strict=True) if not gold]
    assert sum(none) > 0.9 * len(none)


def test_a_run_leaves_curves_and_numbers(trained):
    validation = read_csv(trained / "reports" / "validation.csv")
    assert list(validation[0]) == ["step", "epoch", "loss", "f1", "exact_match"]
    best = max(validation, key=lambda row: float(row["f1"]))
    metrics = read_json(trained / "reports" / "metrics.json")
    assert metrics["best"] == {name: float(value) for name, value in best.items()}
    assert metrics["examples"]["train"] == len(read_dataset(trained / "task", "qa").splits["train"]["question"])


def test_the_model_is_that_of_transformers(trained):
    theirs, info = transformers.BertForQuestionAnswering.from_pretrained(trained / "model", output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert not info["mismatched_keys"]
    task, dataset = task_of(trained)
    mine = load_model(task, trained / "model", "scratch@qa", trained / "task").eval()
    encoded = task.encode(dataset.splits["test"], load_tokenizer(trained / "tokenizer"), 16)
    rows = encoded.sizes.argsort()[[0, 1, -1]].tolist()
    batch = encoded.windows.batch(rows)
    assert len(set(batch.lengths.tolist())) > 1
    tokens = [encoded.windows.input_ids[row] for row in rows]
    padded = torch.zeros(3, max(map(len, tokens)), dtype=torch.long)
    types, mask = torch.zeros_like(padded), torch.zeros_like(padded)
    ends = batch.lengths.cumsum()
    for row, one in enumerate(tokens):
        padded[row, : len(one)] = torch.from_numpy(one)
        types[row, : len(one)] = torch.from_numpy(batch.token_type_ids[ends[row] - len(one) : ends[row]])
        mask[row, : len(one)] = 1
    with torch.no_grad():
        found = theirs.eval()(padded, attention_mask=mask, token_type_ids=types)
        ours = mine(
            torch.from_numpy(batch.input_ids), torch.from_numpy(batch.token_type_ids), layout_of(batch.lengths, CPU)
        )
    expected = torch.stack([found.start_logits, found.end_logits], 2)[mask.bool()]
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=0)


def test_a_window_is_what_the_tokenizer_of_transformers_makes_of_a_pair(trained):
    task, dataset = task_of(trained)
    encoded = task.encode(dataset.splits["test"], load_tokenizer(trained / "tokenizer"), 16)
    tokenizer = transformers.AutoTokenizer.from_pretrained(trained / "model")
    whole = [number for number in range(len(encoded.contexts)) if len(encoded.windows.of(number)) == 1]
    assert whole
    for number in whole:
        pair = tokenizer(dataset.splits["test"]["question"][number], encoded.contexts[number])
        (window,) = encoded.windows.of(number)
        assert pair["input_ids"] == encoded.windows.input_ids[window].tolist()
        assert pair["token_type_ids"] == encoded.windows.batch([window]).token_type_ids.tolist()


def test_the_pooler_that_nothing_trained_stays_out(trained):
    names = read_model(trained / "model", "scratch@qa").weights
    assert not any("pooler" in name for name in names)
    assert {"qa_outputs.weight", "qa_outputs.bias"} <= set(names)
    load_encoder(trained / "model", "scratch@qa")


def test_the_task_is_scored_beside_what_it_is_held_against(trained, tmp_path):
    folder, result = score_as_both(trained, tmp_path, "qa", make_task, SETTINGS.task("qa").finetune)
    assert list(result.metrics) == [
        *("loss", "f1", "exact_match", "scratch_loss", "scratch_f1", "scratch_exact_match"),
        *("first_sentence_f1", "first_sentence_exact_match"),
        *("f1_low", "f1_high", "exact_match_low", "exact_match_high", "examples"),
    ]
    assert result.metrics["f1"] == result.metrics["scratch_f1"] > result.metrics["first_sentence_f1"] > 0
    report = read_json(folder / "score" / "report.json")
    assert [headline["name"] for headline in report["headlines"]] == ["F1", "exact match"]
    against = {"scratch_f1": "without pretraining", "first_sentence_f1": "first sentence of the context"}
    assert report["headlines"][0]["against"] == against
    test = read_dataset(trained / "task", "qa").splits["test"]
    rows = read_csv(folder / "score" / "predictions.csv")
    assert [row["id"] for row in rows] == test["id"]
    assert all(row.startswith("q") for row in test["id"])
    assert not any("w" in value for row in rows for value in list(row.values())[1:])  # no text
    assert sum(int(row["questions"]) for row in read_csv(folder / "score" / "windows.csv")) == len(test["id"])


@pytest.fixture(name="predictor", scope="module")
def _predictor(trained):
    saved = read_model(trained / "model", "scratch@qa")
    assert saved.config["architectures"] == [f"Bert{purpose}" for purpose in PURPOSES]
    return open_predictor(saved, load_tokenizer(trained / "tokenizer"), CPU)


def test_a_trained_model_answers(trained, predictor):
    task, dataset = task_of(trained)
    test = dataset.splits["test"]
    model = load_model(task, trained / "model", "scratch@qa", trained / "task")
    encoded = task.encode(test, load_tokenizer(trained / "tokenizer"), 16)
    expected = task.predict(model, encoded, CPU).answers
    assert predictor.fields == ("question", "context")
    found = predictor.predict(
        [dict(zip(predictor.fields, pair, strict=True)) for pair in zip(test["question"], test["context"], strict=True)]
    )
    assert found.cut == 0
    assert found.windowed == sum(len(encoded.windows.of(number)) > 1 for number in range(len(expected))) > 0
    for row, answer, context in zip(found.rows, expected, test["context"], strict=True):
        assert list(row) == ["answer", "start", "end", "probability", "no_answer"]
        assert row["probability"] == pytest.approx(answer.probability, abs=1e-5)
        if answer.span is None:
            assert (row["answer"], row["start"], row["end"]) == (None, None, None)
            assert row["probability"] == row["no_answer"] > 0
        else:
            assert row["answer"] == context[row["start"] : row["end"]] == answer.text(context)
            assert row["probability"] + row["no_answer"] <= 1 + 1e-6


ASKED = [
    {"question": "w20 w21", "context": "w50 w10 w60 w61 w11 w70"},
    {"question": "w20 w21 w22 w23 w24 w25", "context": "w50 w51 " * 20 + "w10 w60 w11"},
    {"question": "", "context": "w50 w10 w60 w11"},
    {"question": "w20", "context": ""},
    {"question": "", "context": "   "},
    {"question": "[SEP] [MASK]", "context": "[CLS] [SEP] w10 w60 [PAD] w11 😀 \ud800 \x00"},
    {"question": "w20", "context": "W50 W10 W60 W61 W11"},
]


def test_an_answer_does_not_depend_on_what_is_asked_beside_it(predictor):
    together = predictor.predict(ASKED)
    assert (together.cut, together.windowed) == (2, 2)  # what is spelled out are letters and signs
    for asked, row in zip(ASKED, together.rows, strict=True):
        (alone,) = predictor.predict([asked]).rows
        assert {key: alone[key] for key in ("answer", "start", "end")} == {
            key: row[key] for key in ("answer", "start", "end")
        }
        for key in ("probability", "no_answer"):
            assert alone[key] == pytest.approx(row[key], abs=1e-5)
    assert [row["answer"] for row in together.rows][3:5] == [None, None]
    assert together.rows[3]["no_answer"] == together.rows[3]["probability"] == 1
    said = [(row, asked["context"]) for row, asked in zip(together.rows, ASKED, strict=True) if row["answer"]]
    assert len(said) > 2
    for row, context in said:
        assert row["answer"] == context[row["start"] : row["end"]].replace("\ud800", "\ufffd")


def test_the_model_is_found_to_be_of_this_kind(trained, predictor):
    found = load_predictor(trained / "model", CPU)
    assert found.predict(ASKED) == predictor.predict(ASKED)


def test_nothing_asked_is_nothing_answered(predictor):
    assert predictor.predict([]).rows == []


def test_a_model_of_another_kind_is_refused(trained, tmp_path):
    saved, tokenizer = read_model(trained / "model", "scratch@qa"), load_tokenizer(trained / "tokenizer")
    for config in ({}, {"maskline": {"kind": "spans", "stride": 3}}, {"maskline": 3}):
        with pytest.raises(UserError, match=r"does not say under maskline in config.json how it reads"):
            open_predictor(dataclasses.replace(saved, config=config), tokenizer, CPU)
    less = {name: weight for name, weight in saved.weights.items() if not name.startswith("qa_outputs")}
    with pytest.raises(UserError, match=r"lacks qa_outputs.weight, qa_outputs.bias: "):
        open_predictor(dataclasses.replace(saved, weights=less), tokenizer, CPU)
