import os
from functools import partial

import pytest
from rich.console import Console

from maskline.inference.fill import Fill
from pipeline import encode, fill_mask
from pipeline.fill_mask import main


@pytest.fixture(name="fill")
def _fill(ask):
    return partial(ask, main)


def test_a_table_per_mask(fill):
    code, output, _ = fill("The [MASK] meets the [MASK].", "--top", "2")
    assert code == 0
    assert "[MASK] 1 of 2" in output
    assert "[MASK] 2 of 2" in output
    assert output.count("meets the [MASK].") == 2
    assert output.count("The [MASK] meets") == 2


@pytest.mark.parametrize("terminal", [True, False])
def test_probabilities_keep_their_places_beside_text_from_right_to_left(fill, monkeypatch, terminal):
    fills = [[Fill("كتاب", 0.5, "هذا كتاب"), Fill("a", 0.25, "a a")]]
    monkeypatch.setattr("maskline.inference.fill.fill_masks", lambda *_: fills)
    monkeypatch.setattr(Console, "is_terminal", terminal)
    _, output, _ = fill("[MASK]")
    row = next(line for line in output.splitlines() if "0.500" in line)
    assert (row.count("\u2068"), row.count("\u2069")) == ((2, 2) if terminal else (0, 0))
    assert row.index("كتاب") < row.index("0.500") < row.index("هذا")
    assert "\u2068" not in next(line for line in output.splitlines() if "0.250" in line)


@pytest.mark.parametrize(("terminal", "width"), [(False, "80"), (False, "20"), (True, "20"), (True, "12")])
def test_nothing_is_cut_and_a_file_gets_each_sentence_in_one_line(fill, monkeypatch, terminal, width):
    long = "the river meets the mountain " * 20 + "end."
    fills = [[Fill("riverside-mountain", 0.125, long), Fill("\x1b[1mb", 0.0625, "b")]]
    monkeypatch.setattr("maskline.inference.fill.fill_masks", lambda *_: fills)
    monkeypatch.setattr(Console, "is_terminal", terminal)
    monkeypatch.setattr(Console, "_environ", os.environ)  # Rich keeps that of its import
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("TERM", "xterm")
    _, output, _ = fill("[MASK]")
    row = next(line for line in output.splitlines() if "0.125" in line)
    assert row.split()[0] == "riverside-mountain"
    assert "0.062" in output
    assert (long in row) != terminal
    assert ("\x1b[1mb" in output) != terminal


def test_five_by_default_and_brackets_stay_as_typed(fill):
    code, output, _ = fill("[b] [MASK]")
    assert code == 0
    assert output.count("[b]") == 5
    assert "of 1" not in output


@pytest.mark.parametrize(
    ("text", "model", "message"),
    [
        ("Paris.", "pretrained", "there is no [MASK] to fill"),
        ("[MASK]" + " the" * 99, "pretrained", "the text has 102 tokens and the model reads at most 32: shorten it"),
        ("[MASK]", "sentiment", "has no masked-language-model head: give the directory of a pretrained model"),
        ("[MASK]", "nothing", "nothing is incomplete (no manifest.json): run `dvc repro pretrain`"),
    ],
)
def test_bad_input_is_one_line(fill, text, model, message):
    code, output, error = fill(text, model=model)
    assert code == 1
    assert message in error
    assert len(error.splitlines()) == 1
    assert output == ""


def test_a_graph_is_no_model_to_look_into(invoke, tmp_path):
    (tmp_path / "model.onnx").touch()
    said = f"error: {tmp_path} holds a graph, and this needs weights: name the model that it was exported from\n"
    assert invoke(fill_mask, "[MASK]", "--model", str(tmp_path)) == (1, "", said)
    assert invoke(encode, "a", "--model", str(tmp_path)) == (1, "", said)
