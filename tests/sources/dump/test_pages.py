import bz2
import gzip
from pathlib import Path

import pytest

from maskline.core.errors import UserError
from maskline.sources.dump.pages import read_pages

SITEINFO = """<siteinfo><sitename>ويكيبيديا</sitename><dbname>arwiki</dbname>
  <base>https://ar.wikipedia.org/wiki/%D8%A7%D9%84</base>
  <namespaces><namespace key="-2" case="x">ميديا</namespace><namespace key="0" />
  <namespace key="6">ملف</namespace><namespace key="10">قالب</namespace></namespaces></siteinfo>"""


def page(identity, title, body="text", namespace="<ns>0</ns>", extra="", revision=""):
    return (
        f"<page><title>{title}</title>{namespace}<id>{identity}</id>{extra}<revision><id>9{identity}</id>{revision}"
        f"<contributor><username>u</username><id>77</id></contributor><model>wikitext</model>{body}</revision></page>"
    )


def dump(*pages, siteinfo=SITEINFO):
    return f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">{siteinfo}{"".join(pages)}</mediawiki>'


def read(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_pages(path))


def test_pages_and_what_the_dump_says_of_its_wiki(tmp_path):
    found = read(tmp_path / "a.xml", dump(page(1, "عنوان", "<text>أ &lt;b&gt; &amp;amp; [[س]]</text>")))
    [(site, only)] = found
    assert only == ("1", "عنوان", 0, False, "wikitext", "أ <b> &amp; [[س]]")
    assert site.name == "arwiki"
    assert site.url("a b/ج") == "https://ar.wikipedia.org/wiki/a_b/%D8%AC"
    assert {"ملف", "ميديا", "file", "category"} <= site.hidden
    assert "قالب" not in site.hidden


def test_an_empty_page_eats_nothing_of_the_next(tmp_path):
    pages = [
        page(1, "One", '<text bytes="0" />'),
        page(2, "Two", "<text/>", extra='<redirect title="x" />'),
        page(3, "Three", "<text>three</text>"),
        page(4, "Four", '<text deleted="deleted" />', namespace="<ns>10</ns>"),
        page(5, "قالب:خمسة", "<text>five</text>", namespace=""),
        page(6, "Talk about: six", "<text>six</text>", namespace=""),
    ]
    found = [item for _, item in read(tmp_path / "a.xml", dump(*pages))]
    assert [item.text for item in found] == ["", "", "three", "", "five", "six"]
    assert [item.redirect for item in found] == [False, True, False, False, False, False]
    assert [item.namespace for item in found] == [0, 0, 0, 10, 10, 0]


def test_the_last_of_several_revisions_is_read(tmp_path):
    first = page(1, "One", "<text>old</text>").removesuffix("</page>")
    both = f"{first}<revision><id>92</id><model>wikitext</model><text>new</text></revision></page>"
    [(_, only)] = read(tmp_path / "a.xml", dump(both))
    assert (only.id, only.text) == ("1", "new")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_encoding_is_that_of_the_file(tmp_path, encoding):
    [(_, only)] = read(tmp_path / "a.xml", dump(page(1, "Ж", "<text>жаба</text>")).encode(encoding))
    assert only.text == "жаба"


def test_several_streams_in_one_file(tmp_path):
    content = dump(*(page(i, f"P{i}", f"<text>{'x' * i}</text>") for i in range(1, 50))).encode()
    for name, compress in (("a.bz2", bz2.compress), ("a.xml.gz", gzip.compress)):
        parts = b"".join(compress(content[i : i + 1000]) for i in range(0, len(content), 1000))
        assert [len(item.text) for _, item in read(tmp_path / name, parts)] == list(range(1, 50))


def test_a_dump_without_siteinfo(tmp_path):
    [(site, only)] = read(tmp_path / "a.xml", dump(page(1, "A", "<text>a</text>"), siteinfo=""))
    assert (site.name, site.url("A"), only.namespace) == ("", "", 0)
    assert "file" in site.hidden


WHOLE = dump(*(page(i, f"P{i}", "<text>words</text>") for i in range(99))).encode()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xml", WHOLE[:-20], "a.xml ends before its closing tag"),
        ("a.xml", b"", "a.xml ends before its closing tag"),
        ("a.xml", b"<html><body>404<br></body></html>", "a.xml is not valid XML"),
        ("a.xml", b"<feed><page><title>x</title></page></feed>", "a.xml is XML, but not a dump"),
        ("a.bz2", bz2.compress(WHOLE)[:-9], "a.bz2 cannot be read to its end"),
        ("a.bz2", bz2.compress(WHOLE[:500]), "a.bz2 ends before its closing tag"),
        ("a.bz2", b"<html>no bz2</html>", "a.bz2 cannot be read to its end"),
        ("a.gz", gzip.compress(WHOLE)[:-9], "a.gz cannot be read to its end"),
        ("a.xml", b'<!DOCTYPE m [<!ENTITY a "' + b"b" * 99 + b'">' + b"".join(
            b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 50) for i in range(9)
        ) + b"]><mediawiki><page><title>&j;</title></page></mediawiki>", "a.xml is not valid XML.*amplification"),
    ],
)  # fmt: skip
def test_what_is_no_whole_dump_is_named(tmp_path, name, content, message):
    with pytest.raises(UserError, match=message):
        read(tmp_path / name, content)


DUMPS = Path("../shared/data/dumps")


@pytest.mark.skipif(not DUMPS.is_dir(), reason="the shared dumps are not here")
@pytest.mark.parametrize(
    ("name", "pages", "redirects"),
    [("bgwiki-latest-pages-articles-shortened.xml.bz2", 3, 0), ("enwiki-table-markup.xml.bz2", 5, 0),
     ("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2", 206, 100)],
)  # fmt: skip
def test_real_dumps(name, pages, redirects):
    found = [item for _, item in read_pages(DUMPS / name)]
    assert len(found) == pages
    assert sum(item.redirect for item in found) == redirects
