import pytest

from benchmarks import inference
from maskline.corpus.articles import Source
from maskline.selection.corpus import write_corpus
from maskline.settings.params import load
from tests.conftest import tiny_articles


@pytest.fixture(name="data")
def _data(tiny_project, tmp_path, monkeypatch):
    write_corpus(tmp_path / "corpus", Source(tiny_articles(60), {}, "none"), 10, 0.2)
    (tmp_path / "tokenizer").symlink_to(tiny_project / "data" / "tokenizer")
    monkeypatch.setattr(inference, "load", lambda _: load(tiny_project / "params.yaml"))
    monkeypatch.setattr(inference, "reference_data", lambda: tmp_path)
    monkeypatch.setattr(inference, "SENTENCES", 20)
    return tmp_path


def test_ours_is_held_against_the_plain_loop(data):
    (row,) = inference.rows()
    ours, theirs = row.series
    assert (ours.name, theirs.name, row.target) == ("ours", "transformers, batch 32", 2.0)
    assert ours.unit == "texts/s"
    assert "20 sentences" in row.note


def test_other_vectors_are_noticed(data, monkeypatch):
    embed = inference.Plain.embed
    monkeypatch.setattr(inference.Plain, "embed", lambda self, texts: embed(self, texts) + 2e-5)
    with pytest.raises(RuntimeError, match="differ"):
        inference.rows()


def test_sentences_come_in_the_order_of_the_articles(data):
    found = inference.sentences(data, 5)
    assert found == inference.sentences(data, 20)[:5]
    assert all(sentence.startswith("The") and sentence.endswith(".") for sentence in found)
    with pytest.raises(RuntimeError, match="fewer than"):
        inference.sentences(data, 10_000)
