"""Prose from wikitext, in time linear in its length, also with unclosed and deeply nested markup.

The markup is removed layer by layer, in MediaWiki's own order: tags whose content is not wikitext, templates, tables,
links, then inline markup. Each layer is one scan for its tokens with a stack of the open ones. Markup that is never
closed is taken for text. Markup nested deeper than `DEPTH` is left out, so that no text is copied more often than that.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from maskline.sentences.splitter import split_sentences
from maskline.sources.dump.aliases import APPENDICES, DISAMBIGUATION, REDIRECT, words
from maskline.sources.dump.leftovers import leftover_markup
from maskline.sources.dump.pages import SitePage
from maskline.sources.dump.repair import repair
from maskline.sources.dump.siteinfo import Site, fold
from maskline.sources.dump.templates import GLOSS, HOLE, render

_GAPS = HOLE + GLOSS
DEPTH = 40
"""Levels of nested templates that are read: MediaWiki's own limit."""
_UNCLOSED = "\ue001"
"""Marks the beginning of markup that is never closed; the rest of its line is left out."""

_CONTENT_SHOWN = ("math", "chem", "ce", "hiero", "score", "syntaxhighlight", "source", "pre", "nowiki")
_CONTENT_HIDDEN = (
    *("ref", "references", "gallery", "timeline", "graph", "chart", "mapframe", "maplink", "imagemap", "inputbox"),
    *("templatedata", "templatestyles", "categorytree", "section", "indicator", "includeonly", "charinsert"),
)
_OPAQUE = re.compile(rf"<!--|<(/?)({'|'.join(_CONTENT_SHOWN + _CONTENT_HIDDEN)})\b([^<>]*)>", re.IGNORECASE)
_LITERAL = re.compile(r"[^\[\]{}|<>'*#=_~\\^&]*")
_FORMULA = re.compile(r"[^\W_]|[\w\s+\-=(),.*/!%:;°′'≤≥≈≠±×·∞∈∪∩→]*")

_BRACES = re.compile(r"\{\{+|\}\}+")
_TABLES = re.compile(r"(\{\|)|(\|\})|<(/?)table\b[^<>]*>", re.IGNORECASE)
_LINE_START = re.compile(r"(?:^|.*\n)[ \t:;*#]*", re.DOTALL)
_BRACKETS = re.compile(r"\[\[|\]\]")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*|simple")
_MEDIA = re.compile(
    r".*\.(?:jpe?g|png|svg|gif|tiff?|webp|xcf|og[agv]|webm|pdf|djvu|midi?|wav|mp3|flac)\s*", re.IGNORECASE
)

_EXTERNAL = re.compile(
    r"\[(?:https?:|ftp:|mailto:|irc:|news:)?//[^\s\[\]<>]*(?:\s+([^\[\]\n]*))?\]|\[mailto:[^\s\[\]]*\s*([^\[\]\n]*)\]"
)
_ADDRESS = re.compile(r"\b(?:https?|ftp)://[^\s\[\]<>\"|»”،؛]+", re.IGNORECASE)
_QUOTES = re.compile(r"'{2,}")
_SUPERSCRIPT = re.compile(r"<sup\b[^<>]*>([^<>]{1,8})</sup\s*>", re.IGNORECASE)
_RAISED = str.maketrans("0123456789+-−()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾ⁿ")
_HIDDEN = re.compile(r"<span\b[^<>]*display:\s*none[^<>]*>[^<>]*</span\s*>", re.IGNORECASE)
_BREAK = re.compile(
    r"</?(?:br|p|div|li|ul|ol|dl|dt|dd|blockquote|center|hr|h[1-6]|tr|td|th|poem|table)\b[^<>]*>", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-z][\w:-]*(?:[\s/][^<>]*)?>", re.IGNORECASE)
_BEHAVIOUR_SWITCH = re.compile(r"__[^\W_]+(?:_[^\W_]+)*__")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_VARIANT = re.compile(r"-\{([^{}]*)\}-")
_VARIANT_RULE = re.compile(r"\s*[a-z]{2,3}(?:-[a-z]+)*\s*:\s*([^;]*)")
_REDIRECT = re.compile(rf"\s*#\s*(?:{'|'.join(map(re.escape, words(REDIRECT)))})\s*:?\s*\[\[", re.IGNORECASE)
_BARE_REDIRECT = re.compile(r"\s*#[^\W\d_]+\s*:?\s*\[\[[^\[\]\n]*\]\]\s*")

_SPECIAL = ("", "=", "*", "#", ":", ";", "|", "!", "{", "-")
"""Beginnings of lines that may be more than text."""
_HEADING = re.compile(r"(={1,6})(?!=)(.+?)=+")
_ROW = re.compile(r"[|{]|!.*(?:!!|\|)")
_ENDS = re.compile(r"[.!?…؟۔。！？।॥։።][\"'”’»)\]」』]*$")
MIN_ITEM = 50
"""Characters from which on a list item is kept although it does not end like a sentence."""
_LIST, _INDENTED = "*#", ":;"
"""Beginnings of list items, and of definitions and indented lines."""
_ANNOUNCE = (":", "：")
_APPENDICES = frozenset(map(fold, words(APPENDICES)))
_DISAMBIGUATION = frozenset(map(fold, words(DISAMBIGUATION)))


class Prose(NamedTuple):
    """The prose of one page."""

    text: str
    """Paragraphs separated by a newline."""
    disambiguation: bool
    """Whether the page marks itself as a disambiguation page."""
    counts: Counter[str]
    """Paragraphs `repaired`; left out: `sentences` with holes, `marked_up` sentences, list `items`, `appendices`."""


def is_redirect(text: str) -> bool:
    """Return whether a page is a redirect: it begins with a known redirect word, or is only `#word [[link]]`."""
    return bool(_REDIRECT.match(text) or _BARE_REDIRECT.fullmatch(text))


def clean_page(language: str, page: SitePage) -> Prose:
    """Return the prose of a page; its sentences are split by the rules of `language`."""
    site, (_, title, *_, text) = page
    return prose(title, text, site, language)


def prose(title: str, text: str, site: Site, language: str) -> Prose:
    """Return the prose of a page: its complete sentences, without markup."""
    text, names = _without_templates(_without_opaque(_unmarked(text)), title)
    disambiguation = (
        not _DISAMBIGUATION.isdisjoint(names) or "__disambig__" in text.lower() or _is_disambiguation(title)
    )
    text = _inline(_without_links(_without_tables(text), site))
    counts = Counter[str]()
    kept: list[str] = []
    cut = False  # whether the item before was left out
    announced = False  # whether `kept` ends with an announcement of a list whose items so far were all left out
    for paragraph, marker in _paragraphs(text, counts):
        cleaned = _cleaned(paragraph, language, counts)
        if announced and not marker:
            _drop_announcement(kept, language, counts)
            announced = False
        short = marker and len(cleaned) < MIN_ITEM
        if short and (not _ENDS.search(cleaned) or (cut and marker in _LIST)):
            counts["items"] += bool(cleaned)
            announced = announced or (not cut and bool(kept) and kept[-1].endswith(_ANNOUNCE))
            cut = True
            continue
        if cleaned:
            kept.append(cleaned)
            announced = False
        cut = False
    if announced:
        _drop_announcement(kept, language, counts)
    return Prose("\n".join(kept), disambiguation, counts)


def _drop_announcement(kept: list[str], language: str, counts: Counter[str]) -> None:
    """Remove the last sentence of `kept`, which announces a list of which nothing is left."""
    *others, _ = split_sentences(kept.pop(), language)
    counts["sentences"] += 1
    if others:
        kept.append(" ".join(others))


def without_leftovers(text: str, language: str) -> tuple[str, Counter[str]]:
    """Return text that another program extracted from a wiki, without the markup and holes that it left.

    The counts are those of `Prose`, and the number of `lines` that contained markup.
    """
    counts = Counter[str]()
    lines = []
    for line in _unmarked(text).split("\n"):
        if leftover_markup(line):
            counts["lines"] += 1
            source, _ = _without_templates(_without_opaque(line), "")
            line = _inline(_without_links(_without_tables(source), _NO_SITE)).partition(_UNCLOSED)[0]  # noqa: PLW2901
        lines.append(_cleaned(line, language, counts))
    return "\n".join(lines), counts


_NO_SITE = Site.of("", "", ())


def _unmarked(text: str) -> str:
    """Return `text` without the characters that mark places in this module."""
    return text.replace("\r", "").replace(HOLE, "").replace(GLOSS, "").replace(_UNCLOSED, "")


def _is_disambiguation(title: str) -> bool:
    return title.endswith(")") and fold(title[title.rfind("(") + 1 : -1]) in _DISAMBIGUATION


def _without_opaque(text: str) -> str:
    """Return `text` without comments and without the elements whose content MediaWiki does not read as wikitext."""
    tokens = list(_OPAQUE.finditer(text))
    if not tokens:
        return text
    last = {token[2].lower(): token.start() for token in tokens if token[1]}
    pieces, at, closing = [], 0, ""
    for token in tokens:
        if token.start() < at:
            continue
        if closing:
            if token[1] and token[2].lower() == closing:
                pieces.append(_shown(closing, text[at : token.start()]))
                at, closing = token.end(), ""
            continue
        pieces.append(text[at : token.start()])
        at = token.end()
        if token[0] == "<!--":
            end = text.find("-->", at)
            at = len(text) if end < 0 else end + 3
        elif not (token[1] or token[3].endswith("/")) and last.get(token[2].lower(), -1) > token.start():
            closing = token[2].lower()
    pieces.append(text[at:])
    return "".join(pieces)


def _shown(name: str, content: str) -> str:
    """Return what an opaque element shows in a sentence; `HOLE` if it shows no text."""
    if name in _CONTENT_HIDDEN:
        return ""
    if name == "nowiki":
        return content if _LITERAL.fullmatch(content) else HOLE
    if name == "math" and _FORMULA.fullmatch(content := content.strip()):
        return content
    return HOLE


def _without_templates(text: str, title: str) -> tuple[str, set[str]]:
    """Return `text` with its templates rendered or left out, and the folded names of these templates."""
    out: list[str] = []
    # For each open run of braces: where its content begins in `out`, and how many of its braces are open.
    open_: list[list[int]] = []
    names = set()
    at = 0
    for token in _BRACES.finditer(text):
        out.append(text[at : token.start()])
        at, size = token.end(), len(token[0])
        if token[0][0] == "{":
            open_.append([len(out), size])
            continue
        while size > 1 and open_:
            start, braces = open_[-1]
            width = 3 if size > 2 and braces > 2 else 2
            content = "".join(out[start:] if len(open_) <= DEPTH else out[start : start + 1])
            name, _, arguments = content.partition("|")
            del out[start:]
            name = fold(name)
            names.add(name)
            if width == 3 or len(open_) > DEPTH:
                out.append(HOLE)
            elif name == "pagename":
                out.append(title)
            else:
                out.append(render(name, arguments))
            size -= width
            if braces - width > 1:
                open_[-1][1] -= width
            else:
                open_.pop()
    out.append(text[at:])
    for start, _ in open_:
        out[start] = _UNCLOSED + out[start]
    return "".join(out), names


def _without_tables(text: str) -> str:
    """Return `text` without tables; `_paragraphs` leaves out the rows of a table that is never closed."""
    open_: list[int] = []
    spans = []
    for token in _TABLES.finditer(text):
        start = token.start()
        if token[3] is None and not _LINE_START.fullmatch(text, max(0, start - 16), start):
            continue
        if token[1] or token[3] == "":
            open_.append(start)
        elif open_:
            spans.append((open_.pop(), token.end()))
    pieces, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            pieces += [text[at:start], "\n\n"]
            at = end
    return "".join([*pieces, text[at:]])


def _without_links(text: str, site: Site) -> str:
    """Return `text` with each link to a page replaced by the text that it shows."""
    out: list[str] = []
    open_: list[int] = []
    at = 0
    for token in _BRACKETS.finditer(text):
        out.append(text[at : token.start()])
        at = token.end()
        if token[0] == "[[":
            open_.append(len(out))
        elif open_:
            start = open_.pop()
            content = "".join(out[start:]) if len(open_) < DEPTH else ""
            del out[start:]
            out.append(_label(content, site))
    out.append(text[at:])
    for start in open_:
        target, bar, label = out[start].partition("|")
        if _is_hidden(target, site):
            out[start] = _UNCLOSED + out[start]
        elif bar and "\n" not in target:
            out[start] = label
    return "".join(out)


def _label(content: str, site: Site) -> str:
    """Return the text of a link: its label or its target; "" for files, categories and links to other languages."""
    target, bar, label = content.partition("|")
    if "\n" in target:
        return content
    if _is_hidden(target, site) or (
        not bar and _LANGUAGE.fullmatch(target.partition(":")[0].strip()) and ":" in target
    ):
        return ""
    return label.strip("\n") if label.strip() else target.strip().lstrip(":")


def _is_hidden(target: str, site: Site) -> bool:
    """Return whether a link to `target` shows no text: it is a file or a category."""
    prefix, _, name = target.partition(":")
    return bool(name and prefix.strip()) and (fold(prefix) in site.hidden or _MEDIA.fullmatch(name) is not None)


def _inline(text: str) -> str:
    """Return `text` without inline markup, and with entities replaced by their characters."""
    text = _EXTERNAL.sub(lambda link: (link[1] or link[2] or "").strip(), text)
    text = _ADDRESS.sub(HOLE, text)
    text = _QUOTES.sub(lambda marks: "'" if len(marks[0]) in {4, 6} else "", text)  # in l''''été'' one of them is text
    if "-{" in text:
        text = _VARIANT.sub(_variant, text)
    text = _untagged(text)
    if "&" in text:
        text = _untagged(_entities(_entities(text)))
    return _BEHAVIOUR_SWITCH.sub("", text).replace("-->", "")


def _untagged(text: str) -> str:
    if "<" not in text:
        return text
    text = _SUPERSCRIPT.sub(_raised, _HIDDEN.sub("", text))
    return _TAG.sub("", _BREAK.sub("\n\n", text))


def _raised(tag: re.Match[str]) -> str:
    """Return digits and signs as superscript characters, so that 10<sup>6</sup> does not become 106."""
    raised = tag[1].strip().translate(_RAISED)
    return raised if not any(character.isalnum() and character.isascii() for character in raised) else tag[1]


def _entities(text: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def _variant(choice: re.Match[str]) -> str:
    """Return the text of a language conversion: the first of its variants."""
    flags, bar, rules = choice[1].rpartition("|")
    if bar and set(flags.strip()) & set("TH-"):  # title, hidden and removed rules show nothing here
        return ""
    rule = _VARIANT_RULE.match(rules)
    return rule[1].strip() if rule else rules


def _paragraphs(text: str, counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs of `text`, each with the sign that makes it a list item; "" if it is not one.

    Lines without a blank line between them are one paragraph, as in MediaWiki. Headings are left out, and so are the
    sections below the headings of appendices and the rows of unclosed tables.
    """
    lines: list[str] = []
    in_appendix = False
    for raw in text.split("\n"):
        line = raw.partition(_UNCLOSED)[0].strip()
        if line[:1] in _GAPS and not line.strip(f"{_GAPS} "):  # only templates: a blank line
            line = ""
        if line[:1] not in _SPECIAL and not in_appendix:
            lines.append(line)
            continue
        if lines:
            yield " ".join(lines), ""
            lines = []
        if heading := _HEADING.fullmatch(line):
            if len(heading[1]) <= 2:
                in_appendix = fold(heading[2].rstrip(":")) in _APPENDICES
                counts["appendices"] += in_appendix
        elif line and not in_appendix and not _ROW.match(line):
            yield line.lstrip("*#:;-! "), line[0] if line[0] in _LIST + _INDENTED else ""
    if lines:
        yield " ".join(lines), ""


def _cleaned(paragraph: str, language: str, counts: Counter[str]) -> str:
    """Return a paragraph repaired, without the sentences that still have holes or markup."""
    text, repaired = repair(paragraph)
    counts["repaired"] += repaired
    if HOLE not in text and not leftover_markup(text):
        return text
    kept = []
    for sentence in split_sentences(text, language):
        if HOLE in sentence:
            counts["sentences"] += any(character.isalpha() for character in sentence.replace(HOLE, ""))
        elif leftover_markup(sentence):
            counts["marked_up"] += 1
        else:
            kept.append(sentence)
    return " ".join(kept)
