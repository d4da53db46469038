from itertools import islice

import pytest

from benchmarks import arabic, size
from benchmarks.measure import Child
from maskline.corpus.articles import Article, Source
from maskline.selection.corpus import write_corpus
from maskline.settings.files import read_yaml
from maskline.settings.params import parse
from tests.conftest import tiny_articles


def test_drawn_articles_are_the_same_each_time_and_no_copies_of_one_another(tmp_path):
    articles = list(islice(size.synthetic(), 60))
    assert articles[:9] == list(islice(size.synthetic(), 9))
    words = " ".join(article.text for article in articles).split()
    assert len(words) / 30 < len(set(words)) < len(words)
    assert words.count("Ba") + words.count("ba") > len(words) / 100
    manifest = write_corpus(tmp_path, Source(articles, {}, "none"), 1, 0.2, near_duplicates=0.8)
    assert manifest["articles"] == len(articles)


def test_every_rank_has_a_word_of_its_own():
    words = [size._word(rank) for rank in range(1, 10_000)]
    assert words[:2] == ["ba", "be"]
    assert len(set(words)) == len(words)
    assert [len(words[place]) for place in (79, 80, 6479, 6480)] == [2, 4, 4, 6]


def test_articles_that_come_again_are_no_near_duplicates(tmp_path, monkeypatch):
    texts = (" ".join(map(size._word, range(start, start + 60))) for start in (90, 900, 9000))
    first = [Article(str(number), "t", "", f"{text}\n{text.upper()}") for number, text in enumerate(texts)]
    monkeypatch.setattr(size, "raw", lambda: iter(first))
    articles = list(islice(size.shuffled_arabic(), 9))
    assert articles[:3] == first
    assert [sorted(article.text.split()) for article in articles] == [sorted(a.text.split()) for a in first] * 3
    assert write_corpus(tmp_path, Source(articles, {}, "none"), 1, 0.3, near_duplicates=0.8)["articles"] == 9


def test_time_per_megabyte_and_the_largest_memory_are_compared():
    small = size.Run(10, {"fetch": Child(1.0, 2.0, 300, 200, ""), "premask": Child(1.0, 1.0, 100, 100, "")})
    large = size.Run(40, {"fetch": Child(1.0, 9.0, 400, 250, ""), "premask": Child(1.0, 4.0, 100, 100, "")})
    fetch, premask, memory = size.compare("s", small, large)
    assert (fetch.subject, fetch.ratio, fetch.met) == ("s: fetch", pytest.approx(9 / 8), False)
    assert [series.values for series in fetch.series] == [(9.0,), (2.0,)]
    assert (premask.ratio, premask.met) == (1.0, True)
    assert (memory.ratio, memory.bound, memory.met) == (400, "at most", True)


def test_the_stages_run_as_commands(tiny_project, tmp_path, monkeypatch):
    monkeypatch.setattr(size, "PARAMS", tiny_project / "params.yaml")
    monkeypatch.setattr(size, "VOCAB_SIZE", 300)
    run = size.measure(iter(tiny_articles(60)), "synthetic", 3_000, tmp_path / "here")
    assert list(run.stages) == ["fetch", "tokenizer", "tokenize", "premask"]
    assert all(0 < took.largest_bytes <= took.peak_bytes for took in run.stages.values())
    assert (tmp_path / "here" / "validation" / "manifest.json").is_file()
    assert parse(read_yaml(tmp_path / "here" / "params.yaml"), {}).tasks == {}


def test_what_is_not_there_is_not_measured_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(arabic, "RAW", tmp_path)
    (row,) = size._rows("arabic", (1, 2))
    assert row.met is False
    assert row.note == arabic.ABSENT
