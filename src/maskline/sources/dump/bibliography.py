"""Bibliographies by their shape: lists of nothing but references. They are no prose, whatever their heading is."""

import re
import unicodedata

from maskline.sources.dump.aliases import CITATION_PREFIXES, HARVARD
from maskline.sources.dump.headings import is_appendix

_HEADING = re.compile(r"^[ \t]*={2,6}[^=\n][^\n]*=[ \t]*$", re.MULTILINE)
_INNERMOST = re.compile(r"\{\{([^{}]*)\}\}")
DEEPEST = 4
"""Levels of nested templates that are looked into."""
_CITED, _OTHER = "\ue011", "\ue012"  # stand for a template that is a citation, and for any other
_SOURCE = re.compile(
    r"\|\s*(?:url|isbn|issn|doi|publisher|title|titel|titre|título|titolo|author|autor|auteur|last|año|année|year|"
    r"editorial|éditeur|verlag|forlag|издательство|заглавие|автор|год|tytuł|wydawca|název|başlık|ISBN|عنوان|مؤلف|ناشر)"
    r"\s*=",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\b(?:ISBN|ISSN|DOI|OCLC|PMID|JSTOR|LCCN|arXiv)\b|\b10\.\d{4,9}/", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?:)?//\w")
_YEAR = re.compile(r"(?<!\d)(?:1[4-9]\d\d|20[0-3]\d|1[23]\d\d|25[0-7]\d)(?!\d)")
_TITLE = re.compile(
    r"'{2,3}[^'\n].*?''|«[^»\n]+»|“[^”\n]+”|„[^“”\n]+[“”]|\"[^\"\n]+\"|《[^》\n]+》|『[^』\n]+』|「[^」\n]+」|〈[^〉\n]+〉"
)
_PAGES = re.compile(
    r"(?<!\d)\d{1,3}\s?[–—-]\s?\d{1,4}(?!\d)|\b(?:pp?|ss?|[Ss]tr|S|[CcСс]|σσ?|lk|lpp|old)\.?\s?\d|\d\s?(?:頁|页|쪽|面|[pсc]\.)|"
    r"(?:עמ['׳]?|หน้า|صص?\.?|পৃ\.?|पृ\.?|पृष्ठ|էջ|გვ\.?|tr\.|trang|hal\.|hlm\.)\s?\d"
)
_AUTHOR_FIRST = re.compile(r"[^\W\d_][\w.'’-]*(?:\s[^\W\d_][\w.'’-]*){0,2},\s[^\W\d_]")
_IN_BRACKETS = re.compile(r"[(（]\s*(?:[^()（）\n]{0,12}[ ,])?(?:1[4-9]|20)\d\d[a-z]?\s*[)）]")
_PLACE_COLON = re.compile(r"[^\W\d_]{3,}\s?[:：]\s?[^\W\d_]{2}")
_PUBLISHED = re.compile(r"''\s*[.,]?\s*((?:[^\W\d_](?:[\w.’-]|'(?!'))*[\s,.&]+){1,8})\(?(?:1[4-9]|20)\d\d\)?\.?$")
"""A title, and behind it nothing but words and the year."""
_GOST = re.compile(r"[—–]\s[^\W\d_][^—–\n]{0,40}?:\s[^—–\n]{2,60},\s(?:1[4-9]|20)\d\d(?!\d)")
"""Place, publisher and year as Russian and Ukrainian lists of literature have them."""
_SMALL_WORDS = frozenset(("und", "et", "and", "e", "y", "de", "i", "of"))
_NO_TEXT = re.compile(rf"(?:\[\[[^\[\]]*\]\]|<[^<>]*>|__[^\W_]+(?:_[^\W_]+)*__|[{_CITED}{_OTHER}\s:;'-])*")
LONGEST_ITEM = 600
"""Characters of the longest item that is taken for a reference."""
_ITEM = "*#"


def without_bibliographies(text: str) -> tuple[str, int]:
    """Return wikitext without the sections that are bibliographies, and how many were left out.

    At the end of a page one reference makes a bibliography, elsewhere two do.
    """
    if "\n*" not in text and "\n#" not in text:
        return text, 0
    starts = [heading.start() for heading in _HEADING.finditer(text)]
    if not starts:
        return text, 0
    ends = [*starts[1:], len(text)]
    kept: list[str] = []
    left_out = 0
    at_end = True
    for start, end in zip(reversed(starts), reversed(ends), strict=True):
        section = text[start:end]
        listed = "\n*" in section or "\n#" in section
        if listed or at_end:
            items, others = _lines(section)
            if items and not others and all(map(is_reference, items)) and (at_end or len(items) > 1):
                left_out += 1
                continue
            at_end = at_end and ((not items and not others) or is_appendix(section.partition("\n")[0].strip(" =")))
        kept.append(section)
    if not left_out:
        return text, 0
    return "".join([text[: starts[0]], *reversed(kept)]), left_out


def _lines(section: str) -> tuple[list[str], bool]:
    """Return the items of the lists of a section, and whether it has other text; templates are marks."""
    body = section.partition("\n")[2]
    if "{{" in body:
        for _ in range(DEEPEST):
            body, count = _INNERMOST.subn(_mark, body)
            if not count:
                break
    items, others = [], False
    for line in filter(None, map(str.strip, body.split("\n"))):
        if line[0] in _ITEM:
            items.append(line.lstrip("*#:; "))
        elif not _NO_TEXT.fullmatch(line):
            others = True
    return [item for item in items if item], others


def _mark(template: re.Match[str]) -> str:
    content = template[1]
    if (
        _CITED in content
        or content.lstrip().casefold().startswith((*CITATION_PREFIXES, HARVARD))
        or len(_SOURCE.findall(content)) > 1
    ):
        return _CITED
    return _OTHER


def is_reference(item: str) -> bool:
    """Return whether an item of a list, as wikitext, looks like a reference to a book, article or page."""
    if len(item) > LONGEST_ITEM:
        return False
    if _CITED in item or _NUMBERED.search(item) or _ADDRESS.search(item):
        return True
    item = _with_ascii_digits(item)
    if _GOST.search(item):
        return True
    if not _YEAR.search(item) or not _TITLE.search(item):
        return False
    if _PAGES.search(item) or _is_published(item):
        return True
    return bool(_AUTHOR_FIRST.match(item.replace("[[", "")) or _IN_BRACKETS.search(item)) and bool(
        _PLACE_COLON.search(item)
    )


def _is_published(item: str) -> bool:
    """Return whether an item is an author, a title and behind it names alone, of places and publishers, and a year."""
    found = _PUBLISHED.search(item)
    author = item[: item.find("''")].rstrip()
    return (
        found is not None
        and author.endswith((":", ","))
        and author[:1].isupper()
        and all(
            word[0].isupper() or word in _SMALL_WORDS for word in found[1].replace(",", " ").replace("&", " ").split()
        )
    )


def _with_ascii_digits(text: str) -> str:
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(character)) if character.isdecimal() else character for character in text)
