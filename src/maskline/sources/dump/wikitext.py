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
from maskline.sources.dump.aliases import DISAMBIGUATION, REDIRECT, TAGS, words
from maskline.sources.dump.bibliography import without_bibliographies
from maskline.sources.dump.definitions import NO_DEFINITIONS, Definitions
from maskline.sources.dump.headings import is_appendix
from maskline.sources.dump.leftovers import leftover_markup
from maskline.sources.dump.losses import KEPT
from maskline.sources.dump.marks import BLOCK, GAPS, HOLE, UNCLOSED, UNKNOWN, between, unmarked
from maskline.sources.dump.measures import raised
from maskline.sources.dump.opaque import without_opaque
from maskline.sources.dump.pages import SitePage
from maskline.sources.dump.repair import may_go_on, repair
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

_EXTERNAL = re.compile(
    r"\[(?:https?:|ftp:|mailto:|irc:|news:)?//[^\s\[\]<>]*(?:\s+([^\[\]\n]*))?\]|\[mailto:[^\s\[\]]*\s*([^\[\]\n]*)\]"
)
_NOTED = re.compile(r"\s*(?:$|[.;!?…。！？।۔\n])")
_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9])(?:https?|ftp)://[^\s\[\]<>\"|»”،؛。、，；：（）「」]*[^\s\[\]<>\"|»”،؛。、，；：（）「」.,;:!?]",
    re.IGNORECASE,
)
"""An address, without the point of the sentence behind it."""
_BEFORE_BOLD = re.compile(rf"^(?:[ \t]*{UNKNOWN})+[ \t]*(?=''')", re.MULTILINE)
"""Unknown templates before the bold title that begins an article: boxes and notes about the page."""
_BOLD_LINE = re.compile(r"\n'''(?=[^'\n]{1,60}'''[ \t]*\n)")
"""The beginning of a line that is bold as a whole: a heading, as `;` makes one."""
_QUOTES = re.compile(r"''+")
_SUPERSCRIPT = re.compile(r"<sup\b[^<>]*>([^<>]{1,8})</sup\s*>", re.IGNORECASE)
_HIDDEN = re.compile(r"<(span|div)\b[^<>]*display:\s*none[^<>]*>[^<>]*</\1\s*>", re.IGNORECASE)
_RUBY = re.compile(r"<r[tp]\b[^<>]*>[^<>]*(?:</r[tp]\s*>)?", re.IGNORECASE)
_BREAK = re.compile(
    r"</?(?:br|p|div|li|ul|ol|dl|dt|dd|blockquote|center|hr|h[1-6]|tr|td|th|poem|table)\b[^<>]*>", re.IGNORECASE
)
_TAG = re.compile(rf"</?(?:{'|'.join(words(TAGS))})(?:[\s/][^<>]*)?>", re.IGNORECASE)
_BEHAVIOUR_SWITCH = re.compile(r"__[^\W_]+(?:_[^\W_]+)*__")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_REDIRECT = re.compile(rf"\s*#\s*(?:{'|'.join(map(re.escape, words(REDIRECT)))})\s*:?\s*\[\[", re.IGNORECASE)
_BARE_REDIRECT = re.compile(r"\s*#[^\W\d_]+\s*:?\s*\[\[[^\[\]\n]*\]\]\s*")

_SPECIAL = ("", "=", "*", "#", ":", ";", "|", "!", "{", "-")
"""Beginnings of lines that may be more than text."""
_FRACTION = re.compile(r"\d+/\d+$")
_HEADING = re.compile(r"(={1,6})(?!=)(.+?)=+")
_ROW = re.compile(r"[|{]|!.*(?:!!|\|)")
_ENDS = re.compile(r"[.!?…؟۔。！？।॥։።][\"'”’»)\]」』]*$")
MIN_ITEM = 50
"""Characters from which on a list item is kept although it does not end like a sentence."""
_LIST, _INDENTED = "*#", ":;"
"""Beginnings of list items, and of definitions and indented lines."""
_SECTION = "="
"""The sign of a heading."""
_ANNOUNCE = (":", "：")
_GOES_ON = (";", ",", "；", "，", "、", "؛", "،")
_CONJUNCTION = re.compile(
    r"\s(?:and|or|and/or|und|oder|et|ou|y|e|o|u|и|или|і|й|та|або|en|of|och|eller|og|i|oraz|lub|a|ve|veya|και|ή|ja|tai|és|vagy|"
    r"și|sau|и/или|va|yoki|dan|atau|và|hoặc|و|أو|یا|اور|और|या)$"
)
"""The end of the last but one part of a sentence over several items."""
_WIDE_JOINT = re.compile(
    r"(?<=[\u3000-\u30ff\u3400-\u9fff\uff01-\uffef])\n(?=[\u3000-\u30ff\u3400-\u9fff\uff01-\uffef])"
)
"""A line break where Chinese and Japanese have no space."""
_FOOTNOTE = re.compile(r"\[(?<=[.,;:!?،؛؟۔।。，、；：！？]\[)\d{1,3}\]")
"""The number of a footnote that was copied with a text."""
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
    text = _inline(_without_links(_without_tables(text), site), variants)
    counts = Counter[str](appendices=bibliographies) if bibliographies else Counter[str]()
    kept = _Kept(language, counts)
    for paragraph, marker in _paragraphs(text, counts):
        if marker == _SECTION:
            kept.end_section()
        else:
            kept.add(paragraph, marker)
    text = kept.text()
    counts[KEPT] += len(split_sentences(text, language))
    return Prose(text, disambiguation, counts)


class _Kept:
    """The paragraphs of a page that are kept."""

    def __init__(self, language: str, counts: Counter[str]) -> None:
        self._language = language
        self._counts = counts
        self._paragraphs: list[str] = []
        self._cut = False  # whether the item before was left out
        self._series: list[str] = []  # the items before, if all of them are short parts of one sentence
        self._announced = False  # whether the last paragraph announces what was left out so far
        self._formula = False  # whether a formula was left out right before

    def add(self, paragraph: str, marker: str) -> None:
        """Add a paragraph or, with a `marker`, an item of a list."""
        if marker:
            self._add_item(paragraph, marker)
            return
        if self._announced:
            self._drop_announcement()
        cleaned = _cleaned(paragraph, self._language, self._counts)
        if " " not in cleaned and 2 * sum(map(str.isalnum, cleaned)) < len(cleaned):  # signs, and no word
            self._counts["items"] += 1
            cleaned = ""
        if self._formula and _is_small(cleaned[:1]):  # "where x is real.": the rest of the sentence of the formula
            _, *others = _sentences(cleaned, self._language)
            self._counts["rests"] += 1
            cleaned = "".join(others).strip()
        self._formula = paragraph.rstrip(" .,;:").endswith(HOLE)
        self._announced = not cleaned and self._announces()
        self._keep(cleaned)

    def end_section(self) -> None:
        """Take note of a heading, below which nothing is announced above it."""
        if self._announced or self._announces():
            self._drop_announcement()
        self._cut, self._series = False, []

    def _announces(self) -> bool:
        return bool(self._paragraphs) and self._paragraphs[-1].endswith(_ANNOUNCE)

    def _add_item(self, item: str, marker: str) -> None:
        short = len(item) < MIN_ITEM
        counts = Counter[str]() if short else self._counts
        cleaned = _cleaned(item, self._language, counts)
        first = not self._cut or bool(self._series)  # nothing before it is lost
        if len(cleaned) >= MIN_ITEM or (_ENDS.search(cleaned) and (first or marker not in _LIST)):
            self._counts["items"] -= len(self._series)
            self._keep(_joined([*self._series, cleaned]))
        else:
            self._counts["items"] += bool(cleaned) or (short and counts["holes"] > 0)
            self._announced = self._announced or (not self._cut and self._is_announcement(item, marker))
            goes_on = cleaned.endswith(_GOES_ON + _ANNOUNCE) or _CONJUNCTION.search(cleaned)
            self._series = [*self._series, cleaned] if first and goes_on else []
            self._cut = self._cut or (item != HOLE and marker != ";")  # a table and a heading are no items
            self._formula = marker in _INDENTED and item[:1] == HOLE
        if short:
            self._counts["repaired"] += counts["repaired"]

    def _keep(self, cleaned: str) -> None:
        if cleaned:
            self._paragraphs.append(cleaned)
            self._announced = False
        self._cut, self._series = False, []

    def _is_announcement(self, item: str, marker: str) -> bool:
        """Return whether the last paragraph needs what follows: it ends with a colon, or goes on in a formula."""
        if not self._paragraphs:
            return False
        last = self._paragraphs[-1]
        return last.endswith(_ANNOUNCE) or (marker in _INDENTED and item[:1] == HOLE and not _ENDS.search(last))

    def _drop_announcement(self) -> None:
        """Remove the last sentence, which announces something of which nothing is left."""
        *others, _ = _sentences(self._paragraphs.pop(), self._language)
        self._counts["announcements"] += 1
        if others:
            self._paragraphs.append("".join(others))
        self._announced = False

    def text(self) -> str:
        """Return the paragraphs; nothing is added after this."""
        self.end_section()
        return "\n".join(self._paragraphs)


def _is_small(letter: str) -> bool:
    """Return whether `letter` is a small one of a script that begins sentences with capitals, as Georgian does not."""
    return letter.islower() and not "\u10d0" <= letter <= "\u10ff"


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
            line = _inline(_without_links(_without_tables(source), _NO_SITE), variants)  # noqa: PLW2901
            line = _untagged(line).partition(UNCLOSED)[0]  # noqa: PLW2901  # other programs write tags as entities
        lines.append(_cleaned(line, language, counts))
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
    """Return `text` without tables; `_paragraphs` leaves out the rows of a table that is never closed."""
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


def _inline(text: str, variants: tuple[str, ...]) -> str:
    """Return `text` without inline markup, and with entities replaced by their characters."""
    if UNKNOWN in text:
        text = _BEFORE_BOLD.sub("", text)
    text = _EXTERNAL.sub(_external, text)
    if "://" in text:
        text = _ADDRESS.sub(HOLE, text)
    text = _FOOTNOTE.sub("", text)
    text = _BOLD_LINE.sub("\n;", text)
    text = "\n".join(map(_without_quotes, text.split("\n"))) if "'''" in text else text.replace("''", "")
    text = _untagged(converted(text, variants))
    if "&" in text:  # what they write is text, also where it looks like a tag
        text = _entities(_entities(text))
    return _BEHAVIOUR_SWITCH.sub("", text).replace("-->", "")


def _external(link: re.Match[str]) -> str:
    """Return the label of a link to elsewhere; one without any is a number, of a note at the end of a sentence."""
    label = (link[1] or link[2] or "").strip()
    return label or ("" if _NOTED.match(link.string, link.end()) else UNKNOWN)


def _without_quotes(line: str) -> str:
    """Return a line without the marks of italic and bold, of which MediaWiki takes some for apostrophes.

    Of four or six one is text. Where both bold and italic would stay open, three are one and the mark of italic: those
    behind a word of one letter, else behind a longer word, else behind a space ("L'''Iliade'' est").
    """
    runs = [(run.start(), run.end() - run.start()) for run in _QUOTES.finditer(line)]
    bold = [start for start, size in runs if size in {3, 4}]
    both = sum(size > 4 for _, size in runs)
    italic = len(runs) - len(bold) - both
    apostrophe = -1
    if bold and (len(bold) + both) % 2 and (italic + both) % 2:
        apostrophe = min(bold, key=lambda start: (line[start - 1 : start] == " ", line[start - 2 : start - 1] != " "))
    return _QUOTES.sub(lambda run: "'" * ((len(run[0]) in {4, 6}) + (run.start() == apostrophe)), line)


def _untagged(text: str) -> str:
    if "<" not in text:
        return text
    text = _SUPERSCRIPT.sub(_raised, _HIDDEN.sub("", _RUBY.sub("", text)))
    return _TAG.sub("", _BREAK.sub("\n\n", text))


def _raised(tag: re.Match[str]) -> str:
    """Return digits and signs as superscript characters, so that 10<sup>6</sup> does not become 106."""
    shown = raised(tag[1].strip())
    return tag[1] if set(shown) & set(tag[1].strip()) else shown


def _entities(text: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def _paragraphs(text: str, counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs of `text`, each with the sign that makes it a list item; "" if it is not one.

    Lines without a blank line between them are one paragraph, as in MediaWiki. Of a heading the sign alone is given.
    The sections below the headings of appendices are left out, as are the rows of unclosed tables.
    """
    lines: list[str] = []
    in_appendix = False
    for raw in text.split("\n"):
        line, unclosed, _ = raw.partition(UNCLOSED)
        line = line.strip()
        if unclosed and line and not _ENDS.search(line):  # what is missing may be a part of the sentence
            line += HOLE
        if line[:1] in GAPS and not line.strip(f"{GAPS} "):  # only templates: a blank line
            line = ""
        if line[:1] not in _SPECIAL and not in_appendix:
            lines.append(line)
            continue
        if lines:
            yield _joined(lines), ""
            lines = []
        if heading := _HEADING.fullmatch(line):
            yield "", _SECTION
            if len(heading[1]) <= 2:
                in_appendix = is_appendix(heading[2])
                counts["appendices"] += in_appendix
        elif line and not in_appendix and not _ROW.match(line):
            yield line.lstrip("*#:;-! "), line[0] if line[0] in _LIST + _INDENTED else ""
    if lines:
        yield _joined(lines), ""


def _joined(lines: list[str]) -> str:
    text = "\n".join(lines)
    return (text if text.isascii() else _WIDE_JOINT.sub("", text)).replace("\n", " ")


def _cleaned(paragraph: str, language: str, counts: Counter[str]) -> str:
    """Return a paragraph repaired, without the sentences that still have holes or markup."""
    text, repaired = repair(paragraph, language)
    counts["repaired"] += repaired
    if HOLE not in text and not leftover_markup(text):
        return text
    kept: list[str] = []
    goes_on = False  # whether the sentence before went, and this may be the rest of it
    for sentence in _sentences(text, language):
        if HOLE in sentence:
            counts["holes"] += any(character.isalpha() for character in sentence.replace(HOLE, ""))
            if kept and not goes_on and may_go_on(kept[-1]):
                kept.pop()
                counts["rests"] += 1
        elif leftover_markup(sentence):
            counts["marked_up"] += 1
        elif goes_on:
            counts["rests"] += 1
        else:
            kept.append(sentence)
        goes_on = (goes_on or HOLE in sentence) and may_go_on(sentence)
    return "".join(kept).strip()


def _sentences(text: str, language: str) -> list[str]:
    """Return the sentences of a paragraph, each with the space before it; a hole may begin one."""
    found = []
    end = 0
    text = text.replace(HOLE, _WORD)
    for sentence in split_sentences(text, language):
        start = text.index(sentence, end)
        found.append(text[end : start + len(sentence)].replace(_WORD, HOLE))
        end = start + len(sentence)
    return found


_WORD = "\u1e8c" + 9 * "\u1e8d"
"""Stands for a hole where sentences are split: a long word with a capital, as a name has and no abbreviation."""
