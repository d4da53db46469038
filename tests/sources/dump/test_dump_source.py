import bz2
import json
from functools import partial

import pytest

from maskline.core.errors import UserError
from maskline.settings.params import load
from maskline.sources.dump import source
from maskline.sources.dump.leftovers import broken_punctuation, leftover_markup
from maskline.sources.dump.pages import MAX_CHARACTERS
from maskline.sources.dump.workers import in_order
from tests.sources.dump.test_pages import DUMPS, dump, page

LONG = "هذه جملة طويلة عن مدينة كبيرة في بلد بعيد. "


def read(*patterns, language="ar", workers=2):
    loaded = load().corpus
    changed = loaded.dump.model_copy(update={"paths": [str(pattern) for pattern in patterns]})
    return source.read(loaded.model_copy(update={"dump": changed, "language": language}), workers, print)


def body(text):
    return f"<text>{text}</text>"


def test_what_is_no_article_is_counted(tmp_path):
    pages = [
        page(1, "واحد", body(f"'''واحد''' [[a|هو]] {LONG}")),
        page(2, "تحويلة", body("#تحويل [[واحد]]"), extra='<redirect title="واحد" />'),
        page(3, "تحويلة ثانية", body("#تحويل [[واحد]]")),
        page(4, "قالب:x", body("x"), namespace="<ns>10</ns>"),
        page(5, "أمل", body("قد يكون:\n* [[x]]\n{{توضيح}}")),
        page(6, "بيانات", body("{}")).replace("<model>wikitext", "<model>json"),
        page(7, "فارغ", '<text bytes="0" />'),
        page(8, "طويل", body("س" * (MAX_CHARACTERS + 1))),
        page(9, "آخر", body(f"{LONG}{{{{مجهول}}}} كلمة ناقصة {{{{مجهول}}}} هنا.")),
    ]
    (tmp_path / "a.xml.bz2").write_bytes(bz2.compress(dump(*pages).encode()))
    found = read(tmp_path / "*.bz2")
    articles = list(found.articles)
    assert [(item.id, item.title) for item in articles] == [
        ("arwiki-1", "واحد"), ("arwiki-7", "فارغ"), ("arwiki-9", "آخر"),
    ]  # fmt: skip
    assert articles[0].text == f"واحد هو {LONG.strip()}"
    assert articles[0].url == "https://ar.wikipedia.org/wiki/%D9%88%D8%A7%D8%AD%D8%AF"
    assert found.dropped == {
        "redirect": 2, "other_namespace": 1, "disambiguation": 1, "no_wikitext": 1, "too_long": 1, "ended": 0,
    }  # fmt: skip
    report = found.report()
    assert report["skipped"] == {"too_long": ["8"], "ended": []}
    assert report["sentences"] == {
        "language": "ar",
        "kept": 2,
        "dropped": {"holes": 1, "rests": 0, "announcements": 0, "marked_up": 0},
        "dropped_percent": {"all": 33.3333, "holes": 33.3333, "rests": 0, "announcements": 0, "marked_up": 0},
    }
    assert str(tmp_path) not in json.dumps(found.provenance)
    assert found.provenance["inputs"][0]["name"] == "a.xml.bz2"


def test_parts_are_read_in_order_and_any_number_of_processes_gives_the_same(tmp_path):
    for part in (1, 2, 3):
        pages = (
            page(f"{part}{i:03}", f"P{part}-{i}", body(f"Page {i} of part {part}. " * (i % 7))) for i in range(300)
        )
        (tmp_path / f"p{part}.xml").write_text(dump(*pages))
    one = list(read(tmp_path / "*.xml", workers=1).articles)
    assert one == list(read(tmp_path / "*.xml", workers=3).articles)
    assert [item.title for item in one] == [f"P{part}-{i}" for part in (1, 2, 3) for i in range(300)]


def test_a_page_that_hangs_is_listed_and_the_same_ones_again(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "clean_page", _clean_or_hang)
    monkeypatch.setattr(source, "in_order", partial(in_order, seconds=0.3))
    (tmp_path / "a.xml").write_text(dump(*(page(i, f"P{i}", body("hang" if i == 3 else "words")) for i in range(6))))
    for _ in range(2):
        found = read(tmp_path / "a.xml")
        assert [item.title for item in found.articles] == [f"P{i}" for i in range(6) if i != 3]
        assert found.dropped["ended"] == 1
        assert found.report()["skipped"]["ended"] == ["3"]


def _clean_or_hang(language, definitions, task):
    from maskline.sources.dump.wikitext import clean_page

    while task[1].text == "hang":
        pass
    return clean_page(language, definitions, task)


def test_errors_name_the_file_and_the_way_out(tmp_path):
    (tmp_path / "a.7z").write_bytes(b"7z")
    with pytest.raises(UserError, match=r"a.7z is none of .xml, .bz2, .gz"):
        read(tmp_path / "*.7z")
    with pytest.raises(UserError, match=r"corpus.dump.paths: .*matches no file"):
        read(tmp_path / "*.bz2")
    (tmp_path / "b.xml").write_text(dump(page(1, "A", body("x")))[:-30])
    with pytest.raises(UserError, match=r"b.xml ends before its closing tag"):
        list(read(tmp_path / "b.xml").articles)
    with pytest.raises(UserError, match=r"corpus.dump.date is not set"):
        read()


@pytest.mark.skipif(not DUMPS.is_dir(), reason="the shared dumps are not here")
@pytest.mark.parametrize(("pattern", "language", "least"), [("en*", "en", 100), ("bg*", "bg", 1)])
def test_real_dumps_leave_no_markup_and_no_holes(pattern, language, least):
    found = read(DUMPS / pattern, language=language)
    articles = list(found.articles)
    assert len(articles) >= least
    for article in articles:
        assert not leftover_markup(article.text), article.title
        assert not {hole for hole in broken_punctuation(article.text) if hole != "()"}, article.title
        for word in ("Файл:", "Категория:", "File:", "Category:", "__", "thumb|"):
            assert word not in article.text
    assert found.report()["skipped"] == {"too_long": [], "ended": []}
    texts = {article.title: article.text for article in articles}
    if language == "en":
        assert texts["Albert Einstein"].startswith("Albert Einstein (14 March 1879 – 18 April 1955) was a German-born")
        assert found.report()["sentences"]["dropped_percent"]["all"] < 1
        assert sum(map(len, texts.values())) > 2_700_000
