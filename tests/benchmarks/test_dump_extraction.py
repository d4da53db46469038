import os

import pytest

from benchmarks import dump_extraction
from maskline.sources.dump.pages import Page, read_pages

PAGES = [
    Page("1", "A & B", 0, False, "wikitext", "''A'' <ref>x</ref> is [[b|B]] (; c)."),
    Page("2", "C", 0, True, "wikitext", "#REDIRECT [[A]]"),
]


@pytest.fixture(name="dump")
def _dump(tmp_path, monkeypatch):
    monkeypatch.setattr(dump_extraction, "_pages", lambda: iter(PAGES))
    return dump_extraction._repeated(tmp_path, 0.003)[0]


def test_pages_are_repeated_as_they_are(dump):
    pages = [page for _, page in read_pages(dump)]
    assert len(pages) > len(PAGES)
    assert pages[:2] == PAGES


def test_what_is_left_is_counted_for_each(dump, tmp_path):
    ours = list(dump_extraction.EXTRACTORS["ours"](dump, tmp_path))
    texts = {"ours": ours, "peer": ["{{x}} is ( ) and f() is."]}
    for kind, marks in (("markup", 2), ("holes", 1)):
        mine, peers = dump_extraction._left(kind, texts)
        assert mine.met
        assert peers.ratio == pytest.approx(1e6 * marks / len(texts["peer"][0]))


def test_work_on_one_core_has_one_and_then_all_again():
    former = os.sched_getaffinity(0)
    assert dump_extraction.on_one_core(lambda: len(os.sched_getaffinity(0))) == 1
    assert os.sched_getaffinity(0) == former


def test_one_core_is_held_against_two(tmp_path, monkeypatch):
    (tmp_path / "a.bz2").touch()
    monkeypatch.setattr(dump_extraction, "RAW", tmp_path)
    monkeypatch.setattr(dump_extraction, "_pages", lambda: iter(PAGES))
    monkeypatch.setattr(dump_extraction, "MEGABYTES", 0.003)
    monkeypatch.setattr(dump_extraction, "EXTRACTORS", {"ours": lambda *_: ["text"]})
    found = {row.subject: row for row in dump_extraction.rows()}
    row = found["dump extraction: two cores"]
    assert [series.name for series in row.series] == ["ours", "one core"]
    assert "whole Arabic dump" in row.note


def test_nothing_is_measured_without_the_dumps(tmp_path, monkeypatch):
    monkeypatch.setattr(dump_extraction, "RAW", tmp_path)
    [row] = dump_extraction.rows()
    assert row.met is False
    assert "not measured" in row.note
