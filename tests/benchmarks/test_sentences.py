from pathlib import Path

import pytest

from benchmarks import sentences
from maskline.sentences.splitter import split_sentences

GOLD = "1\tOne.\n0\tTwo is longer.\n0\tThree.\n\n\n0\tAlone\n"


@pytest.fixture(name="gold")
def _gold(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "GOLD", tmp_path)
    (tmp_path / "en.tsv").write_text(GOLD, encoding="utf-8")
    return list(sentences.read_gold(tmp_path / "en.tsv"))


def test_the_gold_is_read_with_the_spaces_of_the_text(gold):
    assert gold == [("One. Two is longer.Three.", ["One.", "Two is longer.", "Three."]), ("Alone", ["Alone"])]


def test_whole_sentences_are_scored(gold):
    assert sentences.sentence_f1(gold, lambda text, _: [text], "en") == 2 * 1 / (4 + 2)
    assert sentences.sentence_f1(gold, lambda text, _: text.split("."), "en") == 2 * 1 / (
        4 + 4
    )  # "Alone", without ends
    parts = {"Alone": ["Alone"]}
    assert (
        sentences.sentence_f1(gold, lambda text, _: parts.get(text, ["One.", "Two is", "longer.Three."]), "en") == 0.5
    )


def test_each_language_has_a_row_for_each_peer(gold, monkeypatch):
    both = {"ours": lambda text, _: dict(gold)[text], "peer": lambda text, _: [text]}
    monkeypatch.setattr(sentences, "splitters", lambda: both)
    (row,) = sentences.rows()
    assert (row.subject, row.peer, [series.median for series in row.series]) == ("sentences: en", "peer", [1, 1 / 3])
    assert row.met


def test_without_the_gold_nothing_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "GOLD", tmp_path / "none")
    assert {row.ratio for row in sentences.rows()} == {None}


SHARED = Path("../shared/data/sentences")
REACHED = {"de": 0.86, "es": 0.94, "id": 0.87, "ja": 0.99, "ka": 0.99, "pt": 0.95, "ru": 0.95, "zh": 0.99}


@pytest.mark.skipif(not SHARED.exists(), reason="needs the gold in ../shared/data, which is no part of the project")
@pytest.mark.parametrize("language", REACHED)
def test_what_the_log_says_is_reached(language):
    gold = list(sentences.read_gold(SHARED / f"{language}.tsv"))
    assert sentences.sentence_f1(gold, split_sentences, language) > REACHED[language]
