import numpy as np
import pytest

from benchmarks import embedding
from tests.conftest import tiny_articles

TEXTS = [article.text for article in tiny_articles(12)]


@pytest.fixture(name="directory")
def _directory(tiny_project):
    return tiny_project / "data" / "models" / "pretrained"


@pytest.mark.filterwarnings("default")
def test_ours_is_held_against_sentence_transformers(directory):
    row = embedding.row(directory, TEXTS)
    ours, theirs = row.series
    assert (ours.name, theirs.name, row.target) == ("ours", "SentenceTransformer.encode", 1.5)
    assert "12 sentences" in row.note


def test_other_vectors_are_noticed(directory, monkeypatch):
    class Other:
        def encode(self, texts):
            return np.full((len(texts), 16), 9.0)

    monkeypatch.setattr(embedding, "sentence_transformer", lambda _: Other())
    with pytest.raises(RuntimeError, match="vectors differ"):
        embedding.row(directory, TEXTS)
