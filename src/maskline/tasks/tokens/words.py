"""Cutting a text into words as corpora of entities do: what training reads ready-made, use has to make."""

import re
import unicodedata
from typing import NamedTuple

_IDEOGRAPHS = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA")
_JOIN = frozenset("-‐‑–'’.&/@_·")  # noqa: RUF001  # in a word: al-Qaeda, O'Brien, AT&T
_JOIN_DIGITS = frozenset(",:٫٬")  # noqa: RUF001  # 1,000 and 12:30
# Of the kinds of characters that `_kind` returns.
_WORD = re.compile(r"cm*|[wd](?:m|h*j?h*[wd]|(?<=d)nd)*|[pjn]m*")
_POSSESSIVE = re.compile(r"(?<=\w)['’][sS]$")  # noqa: RUF001
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_KINDS = {"L": "w", "N": "w", "Nd": "d", "M": "m", "P": "p", "S": "p"}
"""Category of Unicode, or the first letter of it -> kind."""


class Word(NamedTuple):
    """A run of characters of a text, the end not included."""

    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """Return the words of `text`.

    A word is a run of letters, digits and their marks. A hyphen, apostrophe, full stop, &, /, @ or _ between two of
    them belongs to it (`al-Qaeda`, `3.5`, `AT&T`), as does a comma or colon between digits, and the full stop after
    initials (`J.`, `U.S.`). Every other sign is a word of its own, as is `'s` at the end of one, and each character of
    Chinese or Japanese, which are written without spaces. Characters without a shape, such as those that turn the
    direction, are part of no word unless they stand inside of it.
    """
    found: list[Word] = []
    for match in _WORD.finditer("".join(map(_kind, text))):
        start, end = match.span()
        if possessive := _POSSESSIVE.search(text[start:end]):
            found += [Word(start, start + possessive.start()), Word(start + possessive.start(), end)]
        elif (
            text[start:end] == "." and found and found[-1].end == start and _INITIALS.fullmatch(text[slice(*found[-1])])
        ):
            found[-1] = Word(found[-1].start, end)
        else:
            found.append(Word(start, end))
    return found


def _kind(character: str) -> str:
    """Return what a character is.

    w letter, d digit, m mark on them, c ideograph, j what may join letters, n what may join digits, p other sign,
    h hidden, s space.
    """
    if character in _JOIN:
        return "j"
    if character in _JOIN_DIGITS:
        return "n"
    if character.isspace():
        return "s"
    if unicodedata.name(character, "").startswith(_IDEOGRAPHS):
        return "c"
    category = unicodedata.category(character)
    return _KINDS.get(category, _KINDS.get(category[0], "h"))
