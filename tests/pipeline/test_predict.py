"""Using a fine-tuned model from the command line."""

import csv
import gzip
import io
import json
import sys
from functools import partial

import pytest

from maskline.finetuning.use import Predicted
from maskline.inference import predict as library
from pipeline.cli import run
from pipeline.predict import main

TEXTS = ["a good river", "", "bad stone [SEP] x", "مرحبا", "the " * 60]


@pytest.fixture(name="ask")
def _ask(tiny_project, monkeypatch, capsys):
    """Return a function that predicts with a directory of the tiny project; it gives exit code, output and errors."""
    monkeypatch.chdir(tiny_project)

    def ask(*arguments):
        monkeypatch.setattr(sys, "argv", ["predict", *arguments])
        with pytest.raises(SystemExit) as stop:
            run(main)
        return stop.value.code, *capsys.readouterr()

    return ask


@pytest.fixture(name="predict")
def _predict(ask):
    return partial(ask, "data/models/sentiment")


def lines(output):
    return [json.loads(line) for line in output.splitlines()]


def test_each_text_has_a_line_of_json_in_its_order(predict):
    code, output, errors = predict(*TEXTS)
    assert code == 0
    found = lines(output)
    assert [row["text"] for row in found] == TEXTS
    for row in found:
        assert row["label"] in {"negative", "positive"}
        assert row["probability"] == max(row["probabilities"].values()) >= 0.5
    assert "1 of 5 texts are longer than the model reads and were cut" in errors


def write(path, texts):
    if path.suffix == ".txt":
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    elif path.suffix == ".gz":
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerows([("other", "review"), *((str(number), text) for number, text in enumerate(texts))])
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv", "a.jsonl.gz"])
def test_a_file_gives_what_its_texts_give_alone_whatever_is_read_at_a_time(predict, tmp_path, monkeypatch, name):
    texts = TEXTS * 3
    monkeypatch.setattr(library, "CHUNK", 4)
    columns = ["--columns", "review"] if name.endswith("sv") else []
    code, output, errors = predict("--file", str(write(tmp_path / name, texts)), *columns)
    assert (code, errors) == (0, "3 of 15 texts are longer than the model reads and were cut\n")
    alone = [lines(predict(text)[1])[0] for text in TEXTS] * 3
    for one, other in zip(lines(output), alone, strict=True):
        assert one["text"] == other["text"]
        assert one["label"] == other["label"]
        assert one["probability"] == pytest.approx(other["probability"], abs=1e-5)


def test_standard_input_has_a_text_in_each_line(predict, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("good\nbad"))
    _, output, _ = predict()
    assert [row["text"] for row in lines(output)] == ["good", "bad"]


def test_a_terminal_gets_a_table_that_nothing_steers(predict, monkeypatch):
    monkeypatch.setattr("pipeline.predict._is_terminal", lambda stream: stream is sys.stdout)
    code, output, _ = predict("a \x1b[31mgood\x1b[0m river", "مرحبا")
    assert code == 0
    assert "probabilities" in output
    assert "negative 0." in output
    assert "\x1b[31m" not in output
    assert "\u2068مرحبا\u2069" in output


class Alike:
    """A stand-in for a model that reads two texts."""

    fields = ("sentence1", "sentence2")

    def predict(self, inputs):
        return Predicted([{"same": one["sentence1"] == one["sentence2"]} for one in inputs], windowed=len(inputs))


def test_a_pair_is_two_arguments_or_two_columns(predict, tmp_path, monkeypatch):
    monkeypatch.setattr(library, "load_predictor", lambda *_: Alike())
    _, output, errors = predict("a", "b", "c", "c")
    assert [row["same"] for row in lines(output)] == [False, True]
    assert errors == "2 of 2 texts are longer than the model reads and were read in windows\n"
    path = write(tmp_path / "a.csv", ["0", "x"])
    _, output, _ = predict("--file", str(path), "--columns", "other,review")
    assert [row["same"] for row in lines(output)] == [True, False]
    for arguments, message in (
        (("a",), "there are 1 texts, and an input has 2, sentence1, sentence2: give all of them"),
        (("--file", str(path), "--columns", "other"), "--columns names 1, and an input has 2: sentence1, sentence2"),
        (
            ("--file", str(write(tmp_path / "a.txt", ["x"]))),
            "a.txt has lines of text, and an input has sentence1, sent",
        ),
        (("--file", str(path)), "a.csv has no column 'sentence1': it has other, review; --columns names others"),
    ):
        code, output, errors = predict(*arguments)
        assert (code, output) == (1, "")
        assert message in errors
        assert errors.count("\n") == 1


def test_what_cannot_be_predicted_is_told_in_one_line(predict, ask, tmp_path, monkeypatch):
    (tmp_path / "a.doc").write_text("x")
    monkeypatch.setattr("pipeline.predict._is_terminal", lambda _: True)
    for arguments, message in (
        ((), 'there is nothing to predict: give texts such as "I like it", --file, or standard input'),
        (("a", "--file", "b.txt"), "there are texts and a file: give one of them"),
        (
            ("--file", str(tmp_path / "a.doc")),
            "a.doc is none of .txt, .csv, .tsv, .jsonl, .parquet: name it as what it",
        ),
        (("a\udcff",), "a text is not UTF-8: check the encoding of the terminal"),
    ):
        code, _, errors = predict(*arguments)
        assert code == 1
        assert message in errors
        assert errors.count("\n") == 1
    code, _, errors = ask("data/models/pretrained", "a")
    assert code == 1
    assert "data/models/pretrained holds a BertForPreTraining, fine-tuned for no kind of task: give one th" in errors
    code, _, errors = ask("data", "a")
    assert code == 1
    assert "data is incomplete (no manifest.json)" in errors
