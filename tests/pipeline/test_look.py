from functools import partial

import pytest

from pipeline.look import main


@pytest.fixture(name="look")
def _look(ask, tmp_path):
    return partial(ask, main, "--out", str(tmp_path / "pages" / "look.html"))


@pytest.fixture(name="written")
def _written(tmp_path):
    return tmp_path / "pages" / "look.html"


def test_a_model_stands_beside_random_weights(look, written):
    code, output, _ = look("the painter sees a [MASK]")
    assert (code, output) == (0, f"{written}\n")
    html = written.read_text(encoding="utf-8")
    assert "<bdi>random weights</bdi></h3>" in html
    assert html.count('class="guesses"') > 10
    assert look("the painter sees a [MASK]")[0] == 0
    assert written.read_text(encoding="utf-8") == html


def test_another_model_stands_beside_it_and_guesses_are_counted(look, written, tiny_project):
    other = tiny_project / "data" / "models" / "sentiment"
    code, _, _ = look("the painter", "sees the city", "--beside", str(other), "--top", "1")
    assert code == 0
    html = written.read_text(encoding="utf-8")
    assert f"<bdi>{other}</bdi></h3>" in html
    assert "random weights" not in html
    assert "Next sentence" in html
    rows = [line for line in html.splitlines() if 'scope="row"' in line and 'class="number"' in line]
    assert rows
    assert {row.count("<small>") for row in rows} == {2}  # of its rank, and of one guess


@pytest.mark.parametrize(
    ("texts", "model", "message"),
    [
        ([""], "pretrained", 'the text has no token: give one, as in "a crane is flying"'),
        (["the " * 99], "pretrained", "the text has 101 tokens and the model reads at most 32: shorten it"),
        (["a", "crane", "is"], "pretrained", "there are 3 texts: give one or two, each in quotes if it has spaces"),
        (["the"], "nothing", "nothing is incomplete (no manifest.json): run `dvc repro pretrain`"),
        (["the", "--beside", "nowhere"], "pretrained", "nowhere is incomplete (no manifest.json)"),
    ],
)
def test_bad_input_is_one_line(look, written, texts, model, message):
    code, output, error = look(*texts, model=model)
    assert code == 1
    assert message in error
    assert len(error.splitlines()) == 1
    assert output == ""
    assert not written.exists()
