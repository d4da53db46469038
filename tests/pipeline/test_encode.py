import importlib
import json
import os
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
import transformers
from rich.console import Console

from pipeline.encode import main


@pytest.fixture(name="encode")
def _encode(ask):
    return partial(ask, main)


def theirs(directory, *texts):
    """Return the tokens and the vectors of `transformers`, (T, D)."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    model = transformers.AutoModel.from_pretrained(directory).eval()
    inputs = tokenizer(*texts, return_tensors="pt")
    with torch.no_grad():
        vectors = model(**inputs).last_hidden_state[0].numpy()
    ids = inputs["input_ids"][0].tolist()
    return tokenizer.convert_ids_to_tokens(ids), ids, inputs["token_type_ids"][0].tolist(), vectors


@pytest.mark.parametrize("model", ["pretrained", "sentiment"])
@pytest.mark.parametrize("texts", [["The river meets a [MASK]."], ["the painter", "sees\u200b the Ω of city"]])
def test_all_numbers_are_those_of_transformers(encode, tiny_project, model, texts):
    code, output, _ = encode(*texts, "--json", model=model)
    assert code == 0
    found = json.loads(output)
    tokens, ids, types, vectors = theirs(tiny_project / "data" / "models" / model, *texts)
    assert found["tokens"] == tokens
    assert found["input_ids"] == ids
    assert found["token_type_ids"] == types
    assert np.abs(np.array(found["vectors"]) - vectors).max() < 1e-5
    assert np.abs(vectors).max() > 0.1


def test_a_table_of_a_pair(encode, tiny_project):
    code, output, _ = encode("the painter", "sees the city", "--dimensions", "2")
    assert code == 0
    tokens, ids, types, vectors = theirs(
        tiny_project / "data" / "models" / "pretrained", "the painter", "sees the city"
    )
    length = len(tokens)
    assert output.startswith(f"shapes: tokens (1, {length}), vectors (1, {length}, 16), that of [CLS] (1, 16)\n")
    rows = [line.split() for line in output.splitlines()[4 : 4 + length]]
    assert [row[:3] for row in rows] == [
        [token, str(number), str(segment)] for token, number, segment in zip(tokens, ids, types, strict=True)
    ]
    assert np.array([row[3:] for row in rows], float) == pytest.approx(vectors[:, :2], abs=5.1e-4)
    assert output.endswith("the first 2 of 16 dimensions: --dimensions shows more, and --json prints all\n")


def test_all_dimensions_fit_however_narrow_the_terminal(encode, monkeypatch):
    monkeypatch.setattr(Console, "_environ", os.environ)  # Rich keeps that of its import
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    code, output, _ = encode("the painter", "--dimensions", "99")
    assert code == 0
    (row,) = [line.split() for line in output.splitlines() if "[CLS]" in line and "shapes" not in line]
    assert len(row) == 3 + 16
    assert "of 16 dimensions" not in output


@pytest.mark.parametrize("terminal", [True, False])
def test_numbers_keep_their_places_beside_text_from_right_to_left(encode, monkeypatch, terminal):
    monkeypatch.setattr(tokens := "maskline.inference.embedding.token_vectors", _arabic(tokens))
    monkeypatch.setattr(Console, "is_terminal", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    _, output, _ = encode("the")
    first, second = output.splitlines()[4:6]
    assert "[CLS]" in first
    assert "\u2068" not in first
    assert ("\u2068كتاب\u2069  " in second) == terminal
    assert "كتاب" in second


def _arabic(name):
    """Return the function `name` with كتاب in place of the second token."""
    module, _, function = name.rpartition(".")
    original = getattr(importlib.import_module(module), function)

    def changed(*arguments):
        found = original(*arguments)
        return replace(found, tokens=[found.tokens[0], "كتاب", *found.tokens[2:]])

    return changed


def test_brackets_stay_as_typed(encode):
    _, output, _ = encode("[b] the")
    assert [line.split()[0] for line in output.splitlines()[4:9]] == ["[CLS]", "[", "b", "]", "the"]


@pytest.mark.parametrize(
    ("texts", "model", "message"),
    [
        ([""], "pretrained", 'the text has no token: give one, as in "a crane is flying"'),
        ([" \u200b"], "pretrained", "the text has no token"),
        (["", "the"], "pretrained", "the first text has no token"),
        (["the", " "], "pretrained", "the second text has no token"),
        (["the " * 99], "pretrained", "the text has 101 tokens and the model reads at most 32: shorten it"),
        (["the " * 20, "the " * 20], "pretrained", "the pair has 43 tokens and the model reads at most 32: shorten it"),
        (["a", "crane", "is"], "pretrained", "there are 3 texts: give one or two, each in quotes if it has spaces"),
        (["the", "caf\udce9"], "pretrained", "the text is not UTF-8: check the encoding of the terminal"),
        (["the"], "nothing", "nothing is incomplete (no manifest.json): run `dvc repro pretrain`"),
    ],
)
def test_bad_input_is_one_line(encode, texts, model, message):
    code, output, error = encode(*texts, model=model)
    assert code == 1
    assert message in error
    assert len(error.splitlines()) == 1
    assert output == ""
