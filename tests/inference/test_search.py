"""Indexing and searching: what is found, what is refused, and what survives a kill."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json, write_json
from maskline.inference import documents, index
from maskline.inference.analysis import analyzer
from maskline.inference.index import build_approximate, build_bm25
from maskline.inference.indexing import IndexSettings, snippet, write_index
from maskline.inference.search import RANK, SearchIndex, best, fuse
from maskline.inference.vectors import VectorSettings, open_encoder
from tests.conftest import tiny_articles
from tests.project import ENVIRONMENT, ROOT

CPU = torch.device("cpu")
ARTICLES = tiny_articles(40)
SETTINGS = IndexSettings(kinds=("ivf", "hnsw"))


@pytest.fixture(name="model", scope="module")
def _model(tiny_project):
    return open_encoder(tiny_project / "data" / "models" / "pretrained", CPU)


@pytest.fixture(name="source", scope="module")
def _source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "a.jsonl"
    rows = [{"id": article.id, "title": article.title, "text": article.text} for article in ARTICLES]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(name="whole", scope="module")
def _whole(source, model, tmp_path_factory):
    """An index of ARTICLES, in several chunks and blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "CHUNK_DOCUMENTS", 16)
        out = tmp_path_factory.mktemp("index") / "index"
        write_index([source], out, model, SETTINGS)
    return out


def query(model, text):
    return model.vectors([text], VectorSettings(normalized=True))[0][0]


def test_each_method_finds_a_document_by_its_own_text(whole, model):
    opened = SearchIndex(whole)
    assert (opened.count, opened.methods) == (40, ("fused", "bm25", "flat", "ivf", "hnsw"))
    for number in (0, 17, 39):
        article = ARTICLES[number]
        text = f"{article.title}\n{article.text}"
        for method in opened.methods:
            hits = opened.hits(opened.ranking(method, text, query(model, text), 3))
            assert len(hits) == 3
            assert (article.id, article.title, snippet(article.text)) in [hit[:3] for hit in hits], method
            assert sorted((hit.score for hit in hits), reverse=True) == [hit.score for hit in hits]


def test_flat_is_the_order_of_all_cosines_whatever_the_block(whole, model, monkeypatch):
    opened = SearchIndex(whole)
    vector, vectors = query(model, "the painter sees"), np.load(whole / "vectors.npy")
    _, scores = opened.ranking("flat", "the painter sees", vector, 11)
    assert np.allclose(scores, np.sort(vectors @ vector)[::-1][:11], atol=1e-6)
    monkeypatch.setattr("maskline.inference.search.BLOCK", 7)
    again = opened.ranking("flat", "the painter sees", vector, 11)
    assert np.allclose(again[1], scores, atol=1e-6)
    assert np.allclose((vectors @ vector)[again[0]], again[1], atol=1e-6)


def test_bm25_has_the_scores_of_the_formula(whole):
    """Lucene's: ln(1 + (N - n + 0.5) / (n + 0.5)) * tf / (tf + k1 (1 - b + b length / mean length))."""
    words = analyzer("en")
    texts = [words(f"{article.title}\n{article.text}") for article in ARTICLES]
    asked = words("the gardens")
    mean = sum(map(len, texts)) / len(texts)
    expected = np.zeros(len(texts))
    for word in asked:
        having = sum(word in text for text in texts)
        weight = np.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
        for number, text in enumerate(texts):
            count = text.count(word)
            expected[number] += weight * count / (count + 1.5 * (0.25 + 0.75 * len(text) / mean))
    rows, scores = SearchIndex(whole).ranking("bm25", "the gardens", None, 100)
    assert np.allclose(scores, expected[rows], rtol=1e-4)
    assert len(rows) == np.count_nonzero(expected)


def test_fusion_by_hand():
    rows, scores = fuse([np.array([5, 3, 8]), np.array([3, 9])], 3)
    assert rows.tolist() == [3, 5, 9]
    assert np.allclose(scores, [1 / (RANK + 2) + 1 / (RANK + 1), 1 / (RANK + 1), 1 / (RANK + 2)])


def test_the_best_of_equal_scores_are_the_first():
    scores = np.array([1.0, 3, 3, 0, 3, 2])
    assert best(scores, 2)[0].tolist() == [1, 2]
    assert best(scores, 9)[0].tolist() == [1, 2, 4, 5, 0, 3]
    assert best(scores, 9, above=1)[0].tolist() == [1, 2, 4, 5]


def test_few_documents_many_asked_for_and_words_that_no_document_has(whole, model):
    opened = SearchIndex(whole)
    vector = query(model, "zebra")
    assert not len(opened.ranking("bm25", "zebra", None, 5)[0])
    for method in ("fused", "flat"):
        assert sorted(opened.ranking(method, "zebra", vector, 1000)[0].tolist()) == list(range(40))
    assert len(opened.ranking("hnsw", "zebra", vector, 1000)[0]) <= 40


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_query_is_refused(whole, text):
    with pytest.raises(UserError, match="the query is empty: give words"):
        SearchIndex(whole).ranking("bm25", text, None, 5)


def test_another_model_another_tokenizer_and_what_is_no_index_are_refused(whole, tiny_project, tmp_path):
    models = tiny_project / "data" / "models"
    opened = SearchIndex(whole)
    opened.check_model(models / "pretrained")
    with pytest.raises(UserError, match=r"was made with another model \(\w{12}\) than that of .*sentiment"):
        opened.check_model(models / "sentiment")
    opened.manifest["tokenizer"] = "0" * 64
    with pytest.raises(UserError, match="was made with another tokenizer"):
        opened.check_model(models / "pretrained")
    with pytest.raises(UserError, match="is no model"):
        opened.check_model(tmp_path)
    with pytest.raises(UserError, match="is no index"):
        SearchIndex(tmp_path)
    write_json(tmp_path / MANIFEST, read_json(whole / MANIFEST))
    with pytest.raises(UserError, match="is no whole index: make it anew"):
        SearchIndex(tmp_path)


def test_an_open_index_stays_what_it_was_when_another_is_written_there(model, tmp_path):
    texts, out = tmp_path / "texts.txt", tmp_path / "index"
    texts.write_text("a river\nthe stone\n")
    write_index([texts], out, model, IndexSettings())
    opened = SearchIndex(out)
    texts.write_text("another garden of the city\n")
    write_index([texts], out, model, IndexSettings())
    assert [hit.snippet for hit in opened.hits(opened.ranking("bm25", "river stone", None, 2))] == [
        "a river",
        "the stone",
    ]


def test_what_is_opened_late_is_not_that_of_another_index(source, model, tmp_path):
    write_index([source], tmp_path / "index", model, IndexSettings(kinds=("hnsw",)))
    first, second = SearchIndex(tmp_path / "index"), SearchIndex(tmp_path / "index")
    query = np.ones(16, np.float32)
    found = first.ranking("hnsw", "a", query, 3)
    write_index([source], tmp_path / "index", model, IndexSettings(language="de", kinds=("hnsw",)))
    assert np.array_equal(first.ranking("hnsw", "a", query, 3)[0], found[0])
    with pytest.raises(UserError, match="index was made anew meanwhile: open it again"):
        second.ranking("hnsw", "a", query, 3)


@pytest.mark.parametrize("name", [MANIFEST, "vectors.npy", "documents.npy", "indexes/bm25/params.index.json"])
def test_a_damaged_index_is_told(whole, tmp_path, name):
    folder = shutil.copytree(whole, tmp_path / "index")
    path = folder / name
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(UserError, match="index is no whole index: make it anew"):
        SearchIndex(folder)


def test_what_was_not_built_cannot_be_asked_for(source, model, tmp_path):
    write_index([source], tmp_path / "index", model, IndexSettings())
    with pytest.raises(UserError, match="has no hnsw: it has fused, bm25, flat"):
        SearchIndex(tmp_path / "index").ranking("hnsw", "a", np.zeros(16, np.float32), 3)


def test_an_interrupted_index_goes_on_and_ends_with_the_same_bytes(whole, source, model, tmp_path, monkeypatch):
    class StopError(Exception):
        pass

    def stop(count):
        def advance(done):
            if done == 32:
                raise StopError

        return advance

    monkeypatch.setattr(documents, "CHUNK_DOCUMENTS", 16)
    with pytest.raises(StopError):
        write_index([source], tmp_path / "index", model, SETTINGS, progress=stop)
    seen = []
    write_index([source], tmp_path / "index", model, SETTINGS, progress=lambda _: seen.append)
    assert seen == [32, 40]

    def files(folder):
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert files(tmp_path / "index") == files(whole)


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_a_build_goes_on_after_its_last_block(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(index, "BLOCK", 100)
    vectors = np.random.default_rng(0).standard_normal((350, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    build_approximate(tmp_path / "whole.faiss", kind, vectors)
    new = index._new
    monkeypatch.setattr(index, "_new", lambda kind, _: new(kind, vectors))
    build_approximate(tmp_path / "cut.faiss", kind, vectors[:200])
    build_approximate(tmp_path / "cut.faiss", kind, vectors)
    assert (tmp_path / "cut.faiss").read_bytes() == (tmp_path / "whole.faiss").read_bytes()


def test_texts_without_a_word_are_indexed(model, tmp_path):
    (tmp_path / "a.txt").write_text("\n...\n")
    write_index([tmp_path / "a.txt"], tmp_path / "index", model, IndexSettings())
    opened = SearchIndex(tmp_path / "index")
    assert not len(opened.ranking("bm25", "a", None, 5)[0])
    assert len(opened.ranking("fused", "a", query(model, "a"), 5)[0]) == 2


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "The Bridges of IRON, 3.5 m", ["the", "bridg", "of", "iron", "3.5", "m"]),
        ("ar", "كَتَبَ الطالب", ["كتب", "طالب"]),
        ("zh", "今天天气很好。", ["今天", "天气", "很好"]),
        ("tr", "IRMAK İzmir", ["ırmak", "izmir"]),
        ("und", "Straße ﬁne", ["strasse", "fine"]),
    ],
)
def test_words_are_those_of_the_language(language, text, expected):
    assert analyzer(language)(text) == expected


def test_a_language_that_is_none_is_refused():
    with pytest.raises(UserError, match="language 'english' is no code of ISO 639"):
        analyzer("english")


def test_a_mark_in_devanagari_ends_no_word():
    assert len(analyzer("hi")("हिन्दी में")) == 2


def test_searching_loads_no_torch():
    code = "import sys, maskline.inference.search, maskline.inference.queries, faiss; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=ENVIRONMENT, check=True)


def test_bm25_is_not_built_twice(tmp_path):
    index = tmp_path / "indexes" / "bm25"
    index.mkdir(parents=True)
    build_bm25(tmp_path)  # which would fail, as there are no words
    assert not list(index.iterdir())
