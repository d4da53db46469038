"""Sentence splitting: ICU's rules for the language (UAX #29), with corrections for encyclopedias.

ICU knows the sentence ends of every script, and leaves closing quotes and brackets with their sentence. But before a
capital it ends a sentence after each "Dr.", "J. R. R." and "U.S.": `ends` takes such ends back. It misses others: where
no space follows a full stop ("na posse.Ele disse"), before a number and a small letter ("todos. 12 pessoas"), before a
dash that begins what somebody says. Text that is already cut into words, such as WikiText, has spaces around the marks
that close a sentence (` . " `), writes decimals as `3 @.@ 5`, and has `<unk>` in place of some words.
"""

import re
from collections.abc import Iterator

from icu4py.breakers import SentenceBreaker

from maskline.sentences.abbreviations import Rules, rules_of
from maskline.sentences.ends import OPENING, PARAGRAPH_ENDS, begins_small, goes_on

_TAIL = 256  # characters of the sentence that are looked at: this bounds the time for a very long line
_CLOSED = re.compile(
    r"[»\u203a\u201d)\]]\s+"
)  # a closing mark after a space, as in French; German »so« has no space there
_STRAIGHT = re.compile(r'"\s+')  # likewise, if a quote is open in the paragraph
_ASTRAY = re.compile(r"(?:[(\[{「『《〈【\uff08]|(?<=[。\uff01\uff1f])[\u201c\u2018])+$")
_ORDINAL = re.compile(r"\W*(?:\d{1,3}|[IVXLC]+)\.\s+")
_FULL_STOP = re.compile(r"[.!?].{3}", re.DOTALL)
_GLUED = re.compile(
    r"(?<!\S)[(\"'«\u201c\u2018]?([^\W\d_](?:[^\W\d_]|[-'\u2019])*[^\W\d_])\.(?=([^\W\d_](?=\s)|[^\W\d_]{2,})(?![\w.@/:]))"
)
_BEFORE_NUMBER = re.compile(r"(?<=[^\W\d_]{4})\.[\"»\u201d)\]]*\s+(?=\d+(?:-\w+)?\s+[^\W\d_])")
_BEFORE_SPEECH = re.compile(r"(?<=[^\W\d_]{2}[.!?])\s+(?=(?:--|[\u2013\u2014])\s+[^\W\d_])")


def split_sentences(text: str, language: str) -> list[str]:
    """Return the sentences of `text`, without the whitespace around them; nothing else is lost.

    A newline ends a sentence. `language` is an ISO 639 code.
    """
    rules = rules_of(language, text)
    sentences = []
    current = ""
    quotes = 0
    for found in _pieces(text, language, rules):
        closed = None
        if not current or current[-1] in PARAGRAPH_ENDS:
            quotes = 0
        else:
            closed = _CLOSED.match(found) or (_STRAIGHT.match(found) if quotes % 2 else None)
        piece = found[closed.end() :] if closed else found
        current += closed[0] if closed else ""
        if current and piece and not goes_on(current[-_TAIL:], piece, rules, language):
            ended, current = _without_astray(current, quotes)
            sentences.append(ended)
        quotes += found.count('"')
        current += piece
    sentences.append(current)
    return [stripped for sentence in sentences if (stripped := sentence.strip())]


def _pieces(text: str, language: str, rules: Rules) -> Iterator[str]:
    """Yield the sentences by ICU's rules, cut where it misses an end, and ordinals with what they count."""
    ordinal = before = ""
    for found in _icu(text, language):
        if rules.ordinals and not ordinal and _ORDINAL.fullmatch(found) and not _refers(before, rules):
            ordinal = found
            continue
        before = found
        piece, ordinal = ordinal + found, ""
        if not _FULL_STOP.search(piece):
            yield piece
        else:
            yield from _cut(piece, rules)
    if ordinal:
        yield ordinal


def _refers(before: str, rules: Rules) -> bool:
    """Return whether a number behind `before` refers to something, as in "tab. 3.", and counts nothing."""
    return not rules.abbreviations.isdisjoint(before.split()[-1:])


def _icu(text: str, language: str) -> Iterator[str]:
    """Yield the sentences by ICU's rules. `<unk>` is taken for a capitalized word: it may begin a sentence."""
    if "<unk>" not in text:
        yield from SentenceBreaker(text, language)
        return
    start = 0
    for piece in SentenceBreaker(text.replace("<unk>", "<UNK>"), language):
        yield text[start : start + len(piece)]
        start += len(piece)


def _cut(piece: str, rules: Rules) -> Iterator[str]:
    """Yield the parts of `piece` between the ends that ICU misses; the commonest addresses and names are no ends."""
    ends = [found.end() for found in _GLUED.finditer(piece) if _is_glued(found[1], found[2], rules)]
    ends += [found.end() for pattern in (_BEFORE_NUMBER, _BEFORE_SPEECH) for found in pattern.finditer(piece)]
    start = 0
    for end in sorted(ends):
        yield piece[start:end]
        start = end
    yield piece[start:]


def _is_glued(before: str, after: str, rules: Rules) -> bool:
    """Return whether a sentence ends between two words with a full stop and no space between them.

    In "Node.Js" and "Amazon.Com" none does: after a name, only a word that begins many sentences tells.
    """
    if not begins_small(before[-1]) or begins_small(after[0]) or not (len(after) == 1 or begins_small(after[1])):
        return False
    return before.islower() or after in rules.openers


def _without_astray(sentence: str, quotes: int) -> tuple[str, str]:
    """Split off the marks at the end of `sentence` that open the next one (ICU's error without a space before).

    `quotes` is the number of straight quotes so far in the paragraph: an odd one opens.
    """
    if sentence[-1] == '"' and quotes % 2:
        return sentence[:-1], '"'
    astray = _ASTRAY.search(sentence) if sentence[-1] in OPENING else None
    return (sentence[: astray.start()], astray[0]) if astray else (sentence, "")
