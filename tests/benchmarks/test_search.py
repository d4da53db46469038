import numpy as np
import pytest

from benchmarks import retrieval, search
from maskline.core.errors import UserError
from maskline.inference.indexing import IndexSettings
from tests.project import ROOT

CRANFIELD = ROOT.parent / "shared" / "data" / "cranfield"


def test_each_index_has_a_row_and_the_curve_a_figure(tmp_path, monkeypatch):
    for name, value in {"REPORTS": tmp_path, "DIMENSIONS": 16, "QUERIES": 5, "BREADTHS": (1, 64)}.items():
        monkeypatch.setattr(search, name, value)
    drawn, draw = [], search.draw
    monkeypatch.setattr(search, "draw", lambda curve, path, flat: drawn.append(flat) or draw(curve, path, flat))
    flat, ivf, hnsw = search.rows_at(700)
    assert drawn == [flat.series[0].median]  # both are milliseconds
    assert (flat.ratio, flat.target) == (1.0, None)
    for row in (ivf, hnsw):
        assert 0.5 < row.ratio <= 1
        assert row.target == 0.95
        assert "700 vectors: " in row.note
        assert len(row.series[0].values) == 5
    assert len((tmp_path / "search-700.csv").read_text().splitlines()) == 5
    assert (tmp_path / "search-700.png").stat().st_size > 5_000


def test_recall_by_hand():
    assert search.recall([{1, 2}, {3, 4}], [{1, 2}, {4, 5}]) == 0.75


def test_vectors_have_the_length_1_and_queries_are_near(tmp_path):
    queries = search.write_vectors(tmp_path / "v.npy", 300)
    vectors = np.load(tmp_path / "v.npy")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.median((queries @ vectors.T).max(1)) > 0.4


def test_scores_by_hand():
    """Ranks of the relevant: 1 and 3 of one query, none of the other."""
    run = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {}}
    found = retrieval.scores_of(run, {"1": {"a": 1, "c": 1}, "2": {"x": 1}})
    ideal = 1 + 1 / np.log2(3)
    assert found["map"] == pytest.approx((1 + 2 / 3) / 2 / 2)
    assert found["mrr"] == 0.5
    assert found["ndcg_10"] == pytest.approx((1 + 0.5) / ideal / 2)
    assert found["recall_100"] == 0.5


def test_queries_by_kind():
    documents = {str(number): f"filler number{number}" for number in range(20)} | {"x": "iron bridge", "y": "wood"}
    queries = {"1": "iron bridge", "2": "stone", "3": "a " * 16}
    kinds = retrieval.kinds_of(documents, queries, {"1": {"x": 1}, "2": {"y": 1}})
    assert (kinds["short"], kinds["long"]) == (["1", "2"], ["3"])
    assert "1" in kinds["words in common"]
    table = retrieval.by_kind({"1": {"x": 1.0}, "2": {"x": 1.0}}, {"1": {"x": 1}, "2": {"y": 1}}, kinds)
    assert table[0] | {"queries": "all", "of": 2, "map": 0.5} == table[0]
    assert "long" not in [row["queries"] for row in table]


def test_a_collection_is_searched_by_every_method(tiny_project, tmp_path, monkeypatch):
    folder = tmp_path / "collection"
    folder.mkdir()
    texts = ["the river meets\nthe city", "a garden of engine", "the painter sees"]
    (folder / "cran.all.1400").write_text("".join(f".I {n}\n.T\nt\n.W\n{text}\n" for n, text in enumerate(texts, 1)))
    (folder / "cran.qry").write_text(".I 004\n.W\nthe garden\n.I 009\n.W\npainter\n")
    (folder / "cranqrel").write_text("1 2 3\n2 3 -1 \n")
    documents, queries, qrels = retrieval.read_collection(folder)
    assert documents["1"] == "the river meets the city"
    assert queries == {"1": "the garden", "2": "painter"}
    assert qrels == {"1": {"2": 1}, "2": {"3": 1}}
    monkeypatch.setattr(retrieval, "COLLECTION", folder)
    monkeypatch.setattr(retrieval, "REPORTS", tmp_path)
    monkeypatch.setattr(retrieval, "MODELS", {"here": tiny_project / "data" / "models" / "pretrained"})
    found = {row.peer: row for row in retrieval.rows()}
    assert set(found) == {"bm25", "flat, here", "fused, here"}
    assert found["bm25"].series[0].values == (1.0,)
    assert "map 1.000" in found["bm25"].note
    monkeypatch.setattr(retrieval, "MODELS", {"here": tmp_path / "gone"})
    with pytest.raises(UserError, match=r"is missing: see docs/search\.md"):
        retrieval.rows()


@pytest.mark.skipif(not CRANFIELD.is_dir(), reason="../shared/data/cranfield is not here")
def test_bm25_on_cranfield_is_as_good_as_others_found_it():
    """0.395 without stems."""
    import bm25s

    from maskline.inference.analysis import analyzer
    from maskline.inference.search import best

    documents, queries, qrels = retrieval.read_collection(CRANFIELD)
    assert (len(documents), len(queries), sum(map(len, qrels.values()))) == (1400, 225, 1837)
    words, index = analyzer(IndexSettings().language), bm25s.BM25()
    index.index([words(text) for text in documents.values()], show_progress=False)
    names, run = list(documents), {}
    for id_, query in queries.items():
        rows, scores = best(index.get_scores_from_ids(index.get_tokens_ids(words(query))), 1000, above=0)
        run[id_] = {names[row]: float(score) for row, score in zip(rows, scores, strict=True)}
    assert retrieval.scores_of(run, qrels)["map"] == pytest.approx(0.4134, abs=0.002)
