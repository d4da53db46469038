"""The report says what became of every article and what those are like that stay."""

import random
from dataclasses import replace

import pytest

from maskline.core.storage import read_csv, read_json
from maskline.corpus.articles import Article, Source
from maskline.selection import report
from maskline.selection.corpus import write_corpus
from maskline.selection.report import DistinctLines


def written(folder, articles, **options):
    source = Source(articles, {"source": "test"}, "none")
    write_corpus(folder / "corpus", source, 10, 0.5, report=folder / "report", **options)
    return folder / "report"


def prose(draw, length):
    return "".join(draw.choices("abcdefghij", k=length))


def test_every_article_is_accounted_for(tmp_path):
    draw = random.Random(0)
    texts = [prose(draw, length) for length in (10, 15, 16, 31, 32, 100, 127, 128)]
    articles = [Article(str(i), f"Title, {i}", "", text) for i, text in enumerate(texts)]
    articles += [articles[0], Article("empty", "", "", ""), Article("near", "A copy", "", texts[-1] + "x")]
    folder = written(tmp_path, articles, near_duplicates=0.8)
    metrics = read_json(folder / "metrics.json")
    assert metrics["read"] == 11
    assert metrics["dropped"] == {"empty": 1, "short": 0, "duplicate_text": 1, "duplicate_id": 0, "near_duplicate": 1}
    quantiles = {"p05": 10, "p25": 15, "p50": 31, "p75": 100, "p95": 127, "max": 129}
    assert metrics["characters_per_article"] == quantiles | {"mean": sum(map(len, [*texts, "x"])) / 8}
    assert metrics["distinct_line_ratio"] == 1
    rows = {row["outcome"]: int(row["articles"]) for row in read_csv(folder / "articles.csv")}
    assert sum(rows.values()) == 11
    assert rows == {split: counts["articles"] for split, counts in metrics["splits"].items()} | metrics["dropped"]
    rows = read_csv(folder / "lengths.csv")
    lengths = {int(row["characters"]): int(row["articles"]) for row in rows}
    assert lengths == {1: 0, 2: 0, 4: 0, 8: 2, 16: 2, 32: 1, 64: 2, 128: 1}
    (row,) = read_csv(folder / "duplicates.csv")
    assert (row["dropped_id"], row["dropped_title"], row["kept_id"], row["kept_title"]) == (
        "7",
        "Title, 7",
        "near",
        "A copy",
    )
    assert float(row["similarity"]) == pytest.approx(121 / 122)


def test_a_source_that_leaves_pages_out_says_so(tmp_path):
    articles = [Article(str(i), "", "", prose(random.Random(i), 50)) for i in range(9)]
    source = Source(articles, {}, "none")
    source.dropped.update(redirect=5)
    source = replace(source, report=lambda: {"sentences": {"kept": 7}, "cleaning": {"items": 2}})
    write_corpus(tmp_path / "corpus", source, 10, 0.5, report=tmp_path / "report")
    rows = {row["outcome"]: row["articles"] for row in read_csv(tmp_path / "report" / "articles.csv")}
    assert rows["redirect"] == "5"
    metrics = read_json(tmp_path / "report" / "metrics.json")
    assert (metrics["read"], metrics["sentences"]) == (14, {"kept": 7})
    assert "cleaning" not in metrics


def test_lines_that_stand_everywhere_lower_the_ratio(tmp_path):
    articles = [Article(str(i), "", "", f"{prose(random.Random(i), 50)}\nSee also\nNotes") for i in range(10)]
    metrics = read_json(written(tmp_path, articles) / "metrics.json")
    assert metrics["lines"] == 30
    assert metrics["distinct_line_ratio"] == 12 / 30


def test_the_ratio_is_near_the_truth_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(report, "MOST_LINES", 2000)
    lines = DistinctLines()
    for number in range(60_000):
        lines.add(str(number % 20_000))
        assert len(lines._seen) <= 2000
    assert lines.ratio == pytest.approx(1 / 3, rel=0.1)
    assert DistinctLines().ratio == 0
