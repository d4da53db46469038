"""Prose from wikitext, in time linear in its length, also with unclosed and deeply nested markup.

The markup is removed layer by layer, in MediaWiki's own order: tags whose content is not wikitext, templates, tables,
links, then inline markup. Each layer is one scan for its tokens with a stack of the open ones. Markup that is never
closed is taken for text. Markup nested deeper than `DEPTH` is left out, so that no text is copied more often than that.
"""

import re
from collections import Counter
from typing import NamedTuple

from maskline.sentences.splitter import split_sentences
from maskline.sources.dump.aliases import DISAMBIGUATION, REDIRECT, words
from maskline.sources.dump.bibliography import without_bibliographies
from maskline.sources.dump.definitions import NO_DEFINITIONS, Definitions
from maskline.sources.dump.inline import without_inline, without_tags
from maskline.sources.dump.leftovers import leftover_markup
from maskline.sources.dump.losses import KEPT
from maskline.sources.dump.marks import BLOCK, UNCLOSED, UNKNOWN, between, unmarked
from maskline.sources.dump.opaque import without_opaque
from maskline.sources.dump.pages import SitePage
from maskline.sources.dump.paragraphs import Kept, cleaned_paragraph, paragraphs
from maskline.sources.dump.siteinfo import Site, fold
from maskline.sources.dump.templates import Templates
from maskline.sources.dump.variants import converted, variants_of

DEPTH = 40
"""Levels of nested templates that are read: MediaWiki's own limit."""

_BRACES = re.compile(r"\{\{+|\}\}+")
_TABLES = re.compile(r"[{|<](?:(?<=\{)\||(?<=\|)\}|(?<=<)/?[Tt][Aa][Bb][Ll][Ee]\b[^<>]*>)")
"""`{|`, `|}`, and the tags of tables. The set of first characters comes first: such a pattern is searched fast."""
_LINE_START = re.compile(r"(?:^|.*\n)[ \t:;*#]*", re.DOTALL)
_BRACKETS = re.compile(r"\[\[|\]\]")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*|simple")
_MEDIA = re.compile(
    r".*\.(?:jpe?g|png|svg|gif|tiff?|webp|xcf|og[agv]|webm|pdf|djvu|midi?|wav|mp3|flac)\s*", re.IGNORECASE
)
_REDIRECT = re.compile(rf"\s*#\s*(?:{'|'.join(map(re.escape, words(REDIRECT)))})\s*:?\s*\[\[", re.IGNORECASE)
_BARE_REDIRECT = re.compile(r"\s*#[^\W\d_]+\s*:?\s*\[\[[^\[\]\n]*\]\]\s*")
_FRACTION = re.compile(r"\d+/\d+$")
_DISAMBIGUATION = frozenset(map(fold, words(DISAMBIGUATION)))


class Prose(NamedTuple):
    """The prose of one page."""

    text: str
    """Paragraphs separated by a newline."""
    disambiguation: bool
    """Whether the page marks itself as a disambiguation page."""
    counts: Counter[str]
    """Paragraphs `repaired`; list `items` and `appendices` left out; sentences by the names of `losses`."""


def is_redirect(text: str) -> bool:
    """Return whether a page is a redirect: it begins with a known redirect word, or is only `#word [[link]]`."""
    return bool(_REDIRECT.match(text) or _BARE_REDIRECT.fullmatch(text))


def clean_page(language: str, definitions: dict[str, Definitions], page: SitePage) -> Prose:
    """Return the prose of a page; its sentences are split by the rules of `language`.

    Args:
        language: an ISO 639 code.
        definitions: name of a wiki -> its templates.
        page: the page.
    """
    site, (_, title, *_, text) = page
    return prose(title, text, site, language, definitions.get(site.name, NO_DEFINITIONS))


def prose(title: str, text: str, site: Site, language: str, definitions: Definitions = NO_DEFINITIONS) -> Prose:
    """Return the prose of a page: its complete sentences, without markup."""
    text, bibliographies = without_bibliographies(without_opaque(unmarked(text)))
    variants = variants_of(language)
    templates = Templates(site, language, definitions, title)
    text, names = _without_templates(converted(text, variants), templates)
    disambiguation = (
        not _DISAMBIGUATION.isdisjoint(names) or "__disambig__" in text.lower() or _is_disambiguation(title)
    )
    text = without_inline(_without_links(_without_tables(text), site), variants)
    counts = Counter[str](appendices=bibliographies) if bibliographies else Counter[str]()
    kept = Kept(language, counts)
    for paragraph, marker in paragraphs(text, counts):
        kept.add(paragraph, marker)
    text = kept.text()
    counts[KEPT] += len(split_sentences(text, language))
    return Prose(text, disambiguation, counts)


def without_leftovers(text: str, language: str) -> tuple[str, Counter[str]]:
    """Return text that another program extracted from a wiki, without the markup and holes that it left.

    The counts are those of `Prose`, and the number of `lines` that contained markup.
    """
    counts = Counter[str]()
    lines = []
    variants = variants_of(language)
    for line in unmarked(text).split("\n"):
        if leftover_markup(line) or (variants and "-{" in line):
            counts["lines"] += 1
            templates = Templates(_NO_SITE, language, NO_DEFINITIONS, "")
            source, _ = _without_templates(converted(without_opaque(line), variants), templates)
            line = without_inline(_without_links(_without_tables(source), _NO_SITE), variants)  # noqa: PLW2901
            line = without_tags(line).partition(UNCLOSED)[0]  # noqa: PLW2901  # other programs write tags as entities
        lines.append(cleaned_paragraph(line, language, counts))
    text = "\n".join(lines)
    counts[KEPT] += len(split_sentences(text, language))
    return text, counts


_NO_SITE = Site.of("", "", ())


def _is_disambiguation(title: str) -> bool:
    return title.endswith(")") and fold(title[title.rfind("(") + 1 : -1]) in _DISAMBIGUATION


def _without_templates(text: str, templates: Templates) -> tuple[str, set[str]]:
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
            name, bar, arguments = content.partition("|")
            del out[start:]
            names.add(fold(name))
            shown = UNKNOWN if width == 3 or len(open_) > DEPTH else templates.render(name, arguments if bar else None)
            if _FRACTION.match(shown) and out[-1:] and out[-1][-1:].isdigit():  # 2{{frac|1|2}} is no 21/2
                shown = f" {shown}"
            out.append(shown)
            size -= width
            if braces - width > 1:
                open_[-1][1] -= width
            else:
                open_.pop()
    out.append(text[at:])
    for start, _ in open_:
        out[start] = UNCLOSED + out[start]
    return "".join(out), names


def _without_tables(text: str) -> str:
    """Return `text` without tables; `paragraphs` leaves out the rows of a table that is never closed."""
    open_: list[int] = []
    spans = []
    for token in _TABLES.finditer(text):
        start, tag = token.start(), token[0][0] == "<"
        if not tag and not _LINE_START.fullmatch(text, max(0, start - 16), start):
            continue
        if token[0] == "{|" or (tag and token[0][1] != "/"):
            open_.append(start)
        elif open_:
            spans.append((open_.pop(), token.end()))
    pieces, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            pieces += [text[at:start], BLOCK]
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
            shown = _label(content, site)
            out.append(shown or between(out[-1] if out else "", text[at : at + 1]))
    out.append(text[at:])
    for start in open_:
        target, bar, label = out[start].partition("|")
        if _is_hidden(target, site):
            out[start] = UNCLOSED + out[start]
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
