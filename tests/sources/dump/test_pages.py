import bz2
import gzip
import tracemalloc
from pathlib import Path

import pytest

from maskline.core.errors import UserError
from maskline.sources.dump.pages import MAX_CHARACTERS, read_pages

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
        ("a.gz", gzip.compress(WHOLE, mtime=0)[:-9], "a.gz cannot be read to its end"),
        ("a.xml", b'<!DOCTYPE m [<!ENTITY a "' + b"b" * 99 + b'">' + b"".join(
            b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 50) for i in range(9)
        ) + b"]><mediawiki><page><revision><text>&j;</text></revision></page></mediawiki>",
         "a.xml is not valid XML.*amplification"),
    ],
)  # fmt: skip
def test_what_is_no_whole_dump_is_named(tmp_path, name, content, message):
    with pytest.raises(UserError, match=message):
        read(tmp_path / name, content)


def bomb(name, before=b"", after=b"", repeat=b"x" * 1000, times=60_000):
    """Return the file `name` of a dump that holds `repeat` so many times, 60 MB; some tens of kilobytes as bz2."""
    packer = bz2.BZ2Compressor()
    parts = [packer.compress(b"<mediawiki>" + before), *(packer.compress(repeat) for _ in range(times))]
    return name, b"".join([*parts, packer.compress(after + b"</mediawiki>"), packer.flush()])


def peak(function):
    tracemalloc.start()
    try:
        return function(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_of_a_text_without_end_the_beginning_is_read(tmp_path):
    parts = page(1, "One", "<text>|</text>").encode().split(b"|")
    name, content = bomb("a.bz2", parts[0], parts[1] + page(2, "Two", "<text>two</text>").encode())
    found, memory = peak(lambda: [item for _, item in read(tmp_path / name, content)])
    assert [len(item.text) for item in found] == [MAX_CHARACTERS + 1, 3]
    assert [(item.id, item.title) for item in found] == [("1", "One"), ("2", "Two")]
    assert memory < 20e6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ((b"<page><title>", b"</title></page>"), r"a.bz2 has more than 65,536 characters in <title>"),
        ((b"<siteinfo><dbname>", b"</dbname></siteinfo>"), r"a.bz2 has more than 65,536 characters in <dbname>"),
        ((b'<page x="', b'"></page>'), r"a.bz2 has a tag of more than 1,048,576 bytes"),
        ((b"<!--", b"-->"), r"a.bz2 has a tag of more than 1,048,576 bytes"),
        ((b"", b"", b"<a>", 200), r"a.bz2 has more than 100 elements inside each other"),
        (
            (b"<siteinfo><namespaces>", b"</namespaces></siteinfo>", b'<namespace key="1">a</namespace>', 10_001),
            r"a.bz2 has more than 10,000 namespaces",
        ),
        ((b"<siteinfo><namespaces><namespace>", b"", b"a</namespace>", 1), r"a.bz2 has a namespace without a number"),
    ],
)
def test_what_no_dump_holds_is_refused_before_it_fills_memory(tmp_path, content, message):
    before, after, *rest = content
    name, content = bomb("a.bz2", before, after, *rest)

    def fail():
        with pytest.raises(UserError, match=message):
            read(tmp_path / name, content)

    assert peak(fail)[1] < 10e6


def test_what_is_not_read_may_be_long(tmp_path):
    name, content = bomb("a.bz2", b"<siteinfo><generator>", b"</generator></siteinfo>" + page(1, "A").encode())
    found, memory = peak(lambda: read(tmp_path / name, content))
    assert [item.title for _, item in found] == ["A"]
    assert memory < 20e6


def test_a_number_of_a_namespace_without_end_is_none(tmp_path):
    ns = f"<ns>{'1' * 5000}</ns>"
    [(_, only)] = read(tmp_path / "a.xml", dump(page(1, "قالب:خمسة", "<text>five</text>", namespace=ns)))
    assert only.namespace == 10


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


def revision(timestamp, text):
    return (
        f"<revision><id>1</id><timestamp>{timestamp}</timestamp><model>wikitext</model><text>{text}</text></revision>"
    )


@pytest.mark.parametrize("order", [("2011", "2013", "2012"), ("2013", "2012", "2011"), ("2011", "2012", "2013")])
def test_the_newest_of_several_revisions_is_read(tmp_path, order):
    revisions = [
        revision(f"{year}-01-01T00:00:00Z", f"text of {year} {'long ' * (2013 - int(year))}") for year in order
    ]
    head = "<page><title>A</title><ns>0</ns><id>1</id>"
    one = f"{head}{''.join(revisions)}</page>"
    several = "".join(f"{head}{text}</page>" for text in revisions)
    other = page(2, "B", "<text>other</text>")
    for pages in (one, several):
        found = [item for _, item in read(tmp_path / "a.xml", dump(page(3, "C", "<text>text</text>"), pages, other))]
        assert [(item.id, item.text.strip()) for item in found] == [
            ("3", "text"),
            ("1", "text of 2013"),
            ("2", "other"),
        ]


def test_pages_without_ids_are_pages(tmp_path):
    pages = [page("", title, f"<text>{title}</text>") for title in ("A", "B")]
    assert [item.text for _, item in read(tmp_path / "a.xml", dump(*pages))] == ["A", "B"]


@pytest.mark.parametrize("threads", [2, 3])
def test_bzip2_in_threads_gives_the_same(tmp_path, threads):
    words = dump(*(page(i, f"P{i}", f"<text>{7**i}</text>") for i in range(900))).encode()
    for level, cuts in ((1, [0]), (9, [0, 70_000, 70_001, 400_000])):
        parts = [words[start:end] for start, end in zip(cuts, [*cuts[1:], len(words)], strict=True)]
        (tmp_path / "a.bz2").write_bytes(b"".join(bz2.compress(part, level) for part in parts))
        assert list(read_pages(tmp_path / "a.bz2", threads)) == list(read_pages(tmp_path / "a.bz2"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bz2.compress(WHOLE)[:-9], "a.bz2 cannot be read to its end"),
        (bz2.compress(WHOLE[:500]), "a.bz2 ends before its closing tag"),
        (b"<html>no bz2</html>", "a.bz2 cannot be read to its end"),
        (b"", "a.bz2 cannot be read to its end"),
        (bz2.compress(WHOLE)[:60] + b"x" + bz2.compress(WHOLE)[61:], "a.bz2 cannot be read to its end"),
    ],
)
def test_damaged_bzip2_is_named_by_threads_too(tmp_path, content, message):
    (tmp_path / "a.bz2").write_bytes(content)
    with pytest.raises(UserError, match=message):
        list(read_pages(tmp_path / "a.bz2", 2))
