"""Which paragraphs of a page are kept, and which of their sentences."""

import re
from collections import Counter
from collections.abc import Iterator

from maskline.sentences.splitter import split_sentences
from maskline.sources.dump.headings import is_appendix
from maskline.sources.dump.leftovers import leftover_markup
from maskline.sources.dump.marks import GAPS, HOLE, UNCLOSED
from maskline.sources.dump.repair import may_go_on, repair

_SPECIAL = ("", "=", "*", "#", ":", ";", "|", "!", "{", "-")
"""Beginnings of lines that may be more than text."""
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


def paragraphs(text: str, counts: Counter[str]) -> Iterator[tuple[str, str]]:
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


class Kept:
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
        """Add what `paragraphs` yields: a paragraph or, with a `marker`, an item of a list or a heading."""
        if marker == _SECTION:
            self._end_section()
            return
        if marker:
            self._add_item(paragraph, marker)
            return
        if self._announced:
            self._drop_announcement()
        cleaned = cleaned_paragraph(paragraph, self._language, self._counts)
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

    def _end_section(self) -> None:
        """Take note of a heading, below which nothing is announced above it."""
        if self._announced or self._announces():
            self._drop_announcement()
        self._cut, self._series = False, []

    def _announces(self) -> bool:
        return bool(self._paragraphs) and self._paragraphs[-1].endswith(_ANNOUNCE)

    def _add_item(self, item: str, marker: str) -> None:
        short = len(item) < MIN_ITEM
        counts = Counter[str]() if short else self._counts
        cleaned = cleaned_paragraph(item, self._language, counts)
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
        is_formula = marker in _INDENTED and item[:1] == HOLE
        return self._announces() or (is_formula and bool(self._paragraphs) and not _ENDS.search(self._paragraphs[-1]))

    def _drop_announcement(self) -> None:
        """Remove the last sentence, which announces something of which nothing is left."""
        *others, _ = _sentences(self._paragraphs.pop(), self._language)
        self._counts["announcements"] += 1
        if others:
            self._paragraphs.append("".join(others))
        self._announced = False

    def text(self) -> str:
        """Return the paragraphs; nothing is added after this."""
        self._end_section()
        return "\n".join(self._paragraphs)


def _is_small(letter: str) -> bool:
    """Return whether `letter` is a small one of a script that begins sentences with capitals, as Georgian does not."""
    return letter.islower() and not "\u10d0" <= letter <= "\u10ff"


def _joined(lines: list[str]) -> str:
    text = "\n".join(lines)
    return (text if text.isascii() else _WIDE_JOINT.sub("", text)).replace("\n", " ")


def cleaned_paragraph(paragraph: str, language: str, counts: Counter[str]) -> str:
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
