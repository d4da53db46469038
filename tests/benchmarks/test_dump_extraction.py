import pytest

from benchmarks import dump_extraction
from maskline.corpus.dump.pages import Page, read_pages

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


def test_nothing_is_measured_without_the_dumps(tmp_path, monkeypatch):
    monkeypatch.setattr(dump_extraction, "RAW", tmp_path)
    [row] = dump_extraction.rows()
    assert row.met is False
    assert "not measured" in row.note
