"""Sentence splitting: ICU's rules for the language (UAX #29), with corrections for encyclopedias.

ICU knows the sentence ends of every script, and leaves closing quotes and brackets with their sentence. But before a
capital it ends a sentence after each "Dr.", "J. R. R." and "U.S.". Here the next word decides: in "the U.S. Army" the
sentence goes on, in "the U.S. The" it ends. Text that is already cut into words, such as WikiText, has spaces around
the marks that close a sentence (` . " `), writes decimals as `3 @.@ 5`, and has `<unk>` in place of some words.
"""

import re
from collections.abc import Iterator

from icu4py.breakers import SentenceBreaker

from maskline.sentences.abbreviations import RULES, Rules

_PARAGRAPH_ENDS = "\n\r\x85\u2028\u2029"
_TAIL = 256  # characters of the sentence that are looked at: this bounds the time for a very long line
_OPENING = "([{\"'«\u2039\u201c\u201d\u201e\u2018¿¡「『《〈【\uff08"
_MIDST = "….!?؟,;:،؛–—-/"  # noqa: RUF001
_CLOSED = re.compile(
    r"[»\u203a\u201d)\]]\s+"
)  # a closing mark after a space, as in French; German »so« has no space there
_STRAIGHT = re.compile(r'"\s+')  # likewise, if a quote is open in the paragraph
_NUMBER = re.compile(r"\d+(?=[^\W\d_A-Za-z])")  # 320ق.م. is 320 ق.م. but 3D is a word
_ASTRAY = re.compile(r"(?:[(\[{「『《〈【\uff08]|(?<=[。\uff01\uff1f])[\u201c\u2018])+$")
_LETTER = re.compile(r"[^\W\d_]")
_FIRST_WORD = re.compile(r"\W*(\w+['\u2019]?)(?!\.)")
_INITIALS = re.compile(r"(?:[^\W\d_]\.-?)+")
_ORDINAL = re.compile(r"(?:\d{1,2}|[IVXLC]+)\.")


def split_sentences(text: str, language: str) -> list[str]:
    """Return the sentences of `text`, without the whitespace around them; nothing else is lost.

    A newline ends a sentence. `language` is an ISO 639 code.
    """
    rules = RULES.get(language.partition("-")[0], Rules())
    sentences = []
    current = ""
    quotes = 0
    for found in _pieces(text, language):
        closed = None
        if not current or current[-1] in _PARAGRAPH_ENDS:
            quotes = 0
        else:
            closed = _CLOSED.match(found) or (_STRAIGHT.match(found) if quotes % 2 else None)
        quotes += found.count('"')
        piece = found[closed.end() :] if closed else found
        current += closed[0] if closed else ""
        if current and piece and not _goes_on(current[-_TAIL:], piece, rules):
            ended, current = _without_astray(current)
            sentences.append(ended)
        current += piece
    sentences.append(current)
    return [stripped for sentence in sentences if (stripped := sentence.strip())]


def _pieces(text: str, language: str) -> Iterator[str]:
    """Yield the sentences by ICU's rules. `<unk>` is taken for a capitalized word: it may begin a sentence."""
    if "<unk>" not in text:
        yield from SentenceBreaker(text, language)
        return
    start = 0
    for piece in SentenceBreaker(text.replace("<unk>", "<UNK>"), language):
        yield text[start : start + len(piece)]
        start += len(piece)


def _goes_on(sentence: str, following: str, rules: Rules) -> bool:
    """Return whether `following` continues `sentence`, of which the end is given, although ICU ends it."""
    if sentence[-1] in _PARAGRAPH_ENDS:
        return False
    if sentence.endswith("@."):  # 3 @.@ 5
        return True
    if following[0] in _MIDST or following.lstrip(_OPENING)[:1].islower():  # enough?…  Yahoo! was  "Who?" asked
        return True
    if not (_LETTER.search(sentence) and _LETTER.search(following)):  # 1. Item
        return True
    last = _NUMBER.sub("", sentence.rsplit(maxsplit=1)[-1].lstrip(_OPENING), count=1)
    if last in rules.ends or not (
        last in rules.abbreviations or _INITIALS.fullmatch(last) or (rules.ordinals and _ORDINAL.fullmatch(last))
    ):
        return False
    opener = _FIRST_WORD.match(following)
    return opener is None or opener[1].replace("\u2019", "'") not in rules.openers


def _without_astray(sentence: str) -> tuple[str, str]:
    """Split off the brackets at the end of `sentence` that open the next one (ICU's error without a space before)."""
    astray = _ASTRAY.search(sentence) if sentence[-1] in _OPENING else None
    return (sentence[: astray.start()], astray[0]) if astray else (sentence, "")
