import gzip
import json
from statistics import median

import pytest

from benchmarks import arabic, tokenize_stage
from maskline.core.storage import read_manifest
from maskline.corpus.articles import Source
from maskline.selection.corpus import write_corpus
from maskline.shards.store import TokenShards
from tests.conftest import tiny_articles


@pytest.fixture(name="data")
def _data(tiny_project, tmp_path):
    write_corpus(tmp_path / "corpus", Source(tiny_articles(60), {}, "none"), 10, 0.2)
    params, tokenizer = tiny_project / "params.yaml", tiny_project / "data" / "tokenizer"
    return arabic.Arabic(params, tokenizer, *[tmp_path / "corpus"] * 3)


def test_what_is_not_there_is_not_measured_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(arabic, "RAW", tmp_path)
    found = tokenize_stage.rows()
    assert len(found) == 4
    assert all(row.ratio is None and not row.series and "not measured" in row.note for row in found)
    assert [row.met for row in found] == [False, None, False, False]


def test_every_contender_reads_all_the_text(data, tmp_path):
    contest = tokenize_stage.Contest(data)
    megabytes = sum(len(article.text.encode()) for article in tiny_articles(60)) / 1e6
    for name, work in contest.contenders(tmp_path).items():
        assert work() == pytest.approx(megabytes), name
    assert TokenShards(tmp_path / "tokens").manifest["documents"] == 60


def test_other_ids_are_noticed(data, tmp_path, monkeypatch):
    contest = tokenize_stage.Contest(data)
    contest.check(tmp_path)
    contest.texts[3] += " a"
    with pytest.raises(RuntimeError, match="other ids"):
        contest.check(tmp_path)


def test_speed_and_memory_are_measured_by_the_command_itself(data, monkeypatch):
    found = tokenize_stage.speed(data)
    assert [row.peer for row in found] == list(tokenize_stage.TARGETS)
    for row in found:
        ours, theirs = row.series
        pairs = zip(ours.values, theirs.values, strict=True)
        assert row.ratio == pytest.approx(median(a / b for a, b in pairs))
    row = tokenize_stage.memory(data)
    assert 0.8 < row.ratio < 1.25  # one corpus against itself
    assert row.met == (row.ratio <= 1.1)


def test_repeated_articles_are_new_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(arabic, "RAW", tmp_path)
    assert not arabic.are_there()
    rows = [{"id": str(n), "title": "", "url": "", "text": "نص قصير" + "!" * n} for n in range(3)]
    with gzip.open(tmp_path / "articles.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    assert arabic.are_there()
    articles = list(arabic.first_bytes(200, arabic.repeated_articles()))
    size = sum(len(article.text.encode()) for article in articles)
    assert 200 <= size < 220
    assert len({article.id for article in articles}) == len({article.text for article in articles}) == len(articles) > 9
    write_corpus(tmp_path / "corpus", Source(articles, {}, "none"), 1, 0.2)
    assert read_manifest(tmp_path / "corpus", "fetch")["articles"] == len(articles)
