"""Repair of paragraphs from which markup was removed.

Marks (`marks`) tell where something was removed. In a bracket, the part with the mark is removed: "(Greek: [hole];
14 March 1879)" becomes "(14 March 1879)". What is `UNKNOWN` was most likely a note or a box where a word ends before it
and a space or a sign follows, or where no sentence has begun; it is then no hole. Scripts without spaces show no such
places, and words of one letter, such as the Arabic article, are never noted. Any other hole is a missing word: it
stays, and the caller drops the sentence.
"""

import re

from maskline.sources.dump.marks import GAPS, GLOSS, GLOSSED, HOLE, UNKNOWN, between

BRACKETS = 3
"""Levels of nested brackets that are repaired."""
LONGEST_PART = 4
"""Words between two commas of a bracket that may stand alone: "born 14 March 1879". More are a clause."""
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
    "\uaa60-\uaa7f\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Letters of scripts that put no space between words: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han and others."""
_GAP = re.compile(f"[{GAPS}]")
_RUN = re.compile(f"[{GAPS}](?: ?[{GAPS}])+")
_GLOSS = f"{GLOSS}(?:[^{GLOSS}{GLOSSED}]*{GLOSSED})?"
_GLOSSED = re.compile(f"{GLOSS}([^{GLOSS}{GLOSSED}]*){GLOSSED}")
_FIRST = 0xE100
"""The character that is the number of the first gloss."""
_NUMBERED = re.compile(f"{GLOSS}(.){GLOSSED}", re.DOTALL)
_LEADING_GLOSS = re.compile(rf"^(?:{_GLOSS}[\s,.;:،؛]*)+")
_GLUED_GLOSS = re.compile(rf"(?<=[{_UNSPACED}]){GLOSS}(?=[{_UNSPACED}，。、；：])")
_PREFIX = re.compile(
    r"(?:^|[^\w\u0300-\u036f\u0610-\u065f\u0900-\u0dff])(?=[^\W\d_])"
    r"(?:[وفبكلس]{0,2}(?:ال|لل)?|[משהוכלב]{1,3}[־'׳]?|[^\W\d_])$"
)
"""The end of a text that is a prefix of the next word, or a single letter."""
_QUOTED = re.compile(r"(?:^|[\s(\[])['‘][^'‘’]*['’]$")
_CAPITAL_NOUNS = frozenset(("de", "lb", "nds", "gsw", "als", "bar", "ksh", "pfl", "pdc", "stq"))
"""Languages that write nouns with a capital."""
_ENDS = ".!?…؟۔。！？।॥։።።๚။៕་།"
_CLOSING = "\"'”’»)\\]」』）》】〉"
_TRAILING_GLOSS = re.compile(rf"(?<=[{_ENDS}])\s*{_GLOSS}\s*$")
_ENDED = re.compile(rf"[{_ENDS}][{_CLOSING}]*$")
_CLOSED_WORD = re.compile(rf"[\w{_CLOSING}%°{_ENDS},;:،؛\u0300-\u036f\u0591-\u05c7\u0610-\u065f\u0900-\u0dff]$")
_FOLLOWING = re.compile(rf"$|[\s.,;:!?…،؛؟۔।॥։{_CLOSING}]|[–—-](?:\s|$)")
_BRACKET = re.compile(r"\s?[(（]([^()（）]*)[)）]")
_STRONG, _WEAK = re.compile(r"([;؛；])"), re.compile(r"([,،、，])")
_OPENED = re.compile(r"([(（])[\s,;:،؛，、；：]+")
_CLOSED = re.compile(r"(?<![\s,;:،؛，、；：])[\s,;:،؛，、；：]+([)）])")
_EMPTY = re.compile(
    rf"(?:(?<=\s)|(?<=^)|(?<=[.,;:»”،؛{_UNSPACED}，。、；：」』》]))\(\s*\)\s?|（\s*[)）]|\(\s*）|\[\s*\]|\s?«\s*»|\s?“\s*”|"
    r"《\s*》|〈\s*〉|「\s*」|『\s*』|【\s*】|〔\s*〕|［\s*］|(?<=\s)\"\"(?=\s)"
)
_COMMAS = re.compile(
    r"([,،؛;])(?:\s*[,،])+(?!\w)|([，、；：])(?:\s*[，、；])+|[，、；：]\s*(?=[。！？])|(?<=[。！？])[，、；：]"
)
_SQUARE = re.compile(r"(\[\w[^\[\]]*?)\s+\]")
_POINT = re.compile(r"[,;:،؛]\s*\.(?=\s|$)")
_AT_START = re.compile(r"[.,;،؛，。、；：](?![.\d])\s*")
_BEFORE = re.compile(r"\s+([,.،؛)）](?!\d))|\s+([，。、；：）」』》】])|(?<=[（「『《【])\s+")
_SIGNS = (
    *("( ", "(,", "(;", "(:", "()", " )", ",)", ";)", ":)", "[]", "[ ]", " ]"),
    *(",,", ", ,", "; ,", ";,", " ,", " .", ",.", ";.", ":.", '""'),
)
_MORE_SIGNS = (
    *("(،", "(؛", "،)", "؛)", "،،", "، ،", ",،", ", ،", ";،", "; ،", "؛,", "؛ ,", "؛،", "؛ ،", "،,", "، ,"),
    *(" ،", " ؛", "،.", "؛.", "«»", "« »", "“”", "“ ”"),
)
"""Those that are not ASCII."""
_WIDE_SIGN = re.compile("[（）「」『』《》〈〉【】〔〕［］，、；：。！？]")
_WIDE = re.compile(
    r"[（「『《〈【〔［(][\s，、；：,;:،؛]*[）」』》〉】〕］)]|[（(][\s,;:،؛，、；：]|[\s,;:，、；：][）)」』》】]|[，、；：。！？]\s*[，、；：]|[，、；：]\s*[。！？]|\s[，。、；：]|[「『《【]\s"
)
"""Every match of the patterns of punctuation has a sign or matches this: both are found in a tenth of the time."""


def repair(text: str, language: str = "") -> tuple[str, bool]:
    """Return a paragraph with its holes closed where possible and single spaces, and whether it was repaired."""
    text = " ".join(text.split())
    repaired = False
    if _GAP.search(text):
        text = _TRAILING_GLOSS.sub("", _LEADING_GLOSS.sub("", _RUN.sub(_strongest, text)))
        text, glosses = _with_numbers(_without_notes(text, nouns=language in _CAPITAL_NOUNS))
        for _ in range(BRACKETS):
            text = _BRACKET.sub(_without_incomplete_parts, text)
        text = _NUMBERED.sub(lambda number: glosses[ord(number[1]) - _FIRST], text)
        text = _GLUED_GLOSS.sub(HOLE, text).replace(GLOSS, "").replace(GLOSSED, "").replace(UNKNOWN, HOLE)
        text = text.replace("  ", " ").strip()
        repaired = True
    if _is_untidy(text):
        tidy = _CLOSED.sub(r"\1", _OPENED.sub(r"\1", text))
        tidy = _BEFORE.sub(r"\1\2", _COMMAS.sub(r"\1\2", _EMPTY.sub("", tidy)))
        tidy = _SQUARE.sub(r"\1]", _POINT.sub(".", tidy))
        repaired |= tidy != text
        text = " ".join(tidy.split())
    if start := _AT_START.match(text):
        text, repaired = text[start.end() :], True
    return text, repaired


def _is_untidy(text: str) -> bool:
    for sign in _SIGNS:
        if sign in text:
            return True
    if text.isascii():
        return False
    for sign in _MORE_SIGNS:
        if sign in text:
            return True
    return bool(_WIDE_SIGN.search(text) and _WIDE.search(text))


def _with_numbers(text: str) -> tuple[str, list[str]]:
    """Return `text` with a number in place of each text of a gloss, which may have brackets itself, and these texts."""
    glosses: list[str] = []

    def number(gloss: re.Match[str]) -> str:
        glosses.append(gloss[1])
        return f"{GLOSS}{chr(_FIRST + len(glosses) - 1)}{GLOSSED}"

    return _GLOSSED.sub(number, text), glosses


def _strongest(run: re.Match[str]) -> str:
    """Return one mark for several: what is missing for certain, else what may be missing."""
    return next(mark for mark in (HOLE, UNKNOWN, GLOSS) if mark in run[0])


def _without_notes(text: str, *, nouns: bool) -> str:
    """Return `text` without the unknown templates that are notes or boxes by what stands around them.

    Where `nouns` have capitals, one shows no beginning of a sentence.
    """
    if UNKNOWN not in text:
        return text
    parts = text.split(UNKNOWN)
    kept = [parts[0]]
    for number, after in enumerate(parts[1:]):
        before = parts[number]
        gap = between(before, after)
        kept.append(gap if _is_note(before, after, number == 0, nouns=nouns) else UNKNOWN)
        kept.append(after)
    return "".join(kept)


def _is_note(before: str, after: str, first: bool, *, nouns: bool) -> bool:
    """Return whether an unknown template between `before` and `after` is a note or a box, by where it stands."""
    following = after.lstrip()[:1]
    starts = not following or (not nouns and (following.isupper() or following.istitle()))
    if not before.strip():
        return first and starts
    if _ENDED.search(before.rstrip()[-8:]):
        return starts or not (before[-1].isspace() or not after[0].isspace())
    if before[-1].isspace():
        return not following and before.rstrip()[-1] in ":–—"  # it follows: {{list}}
    if (
        before[-1].isdigit()
        or not _CLOSED_WORD.search(before[-1])
        or _PREFIX.search(before[-8:])
        or _awaits_word(before)
    ):
        return False
    return bool(_FOLLOWING.match(after)) and not _is_unspaced(before[-1]) and not _is_unspaced(following)


def _awaits_word(before: str) -> bool:
    """Return whether `before` ends with a quotation mark that opens, or with the apostrophe of l'eau."""
    mark, letter = before[-1], before[-2:-1]
    if mark not in "\"'’":
        return False
    if not letter.strip("([{ "):
        return True
    return mark != '"' and letter.isalpha() and not _QUOTED.search(before[-100:])


_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")


def _is_unspaced(character: str) -> bool:
    return bool(_UNSPACED_LETTER.match(character))


_BEFORE_NAMES = (
    "им|проф|акад|доц|ул|пл|пер|пр|наб|св|ген|полк|гор|пос|дер|обл|оз|см|напр|ред|изд|вул|смт|просп|"
    "prof|dr|doc|ing|mgr|inż|st|sv|hl|av|bkz|vb|mim|alb|yrd|gen|płk|abp|bp|ks|ul|al|inst|tzv|tzn|hrsg|ggf|bzw|sog|zv"
)
_ABBREVIATED = re.compile(
    rf"(?:^|[\s(«„“-]|(?<![^\W\d_])[\"'])(?:(?<![\d{HOLE}]\s)[^\W\d_]|{_BEFORE_NAMES})\.$", re.IGNORECASE
)


def may_go_on(sentence: str) -> bool:
    """Return whether `sentence` ends with one letter or an abbreviation that a name follows, such as `Dr.`."""
    return bool(_ABBREVIATED.search(sentence[-8:]))


def _length(part: str) -> int:
    """Return the words of a part of a bracket, three letters to one where words have no spaces between them."""
    return max(len(part.split()), len(_UNSPACED_LETTER.findall(part)) // 3)


def _without_incomplete_parts(bracket: re.Match[str]) -> str:
    """Return a bracket without its parts that have a hole.

    It is "" if no part is left, and if commas part the clauses of a sentence, which cannot do without one of them.
    """
    content = bracket[1]
    if not _GAP.search(content):
        return bracket[0]
    parts = (_STRONG if _STRONG.search(content) else _WEAK).split(content)
    kept = [
        (parts[i], parts[i + 1] if i + 1 < len(parts) else "")
        for i in range(0, len(parts), 2)
        if not _GAP.search(parts[i])
    ]
    inner = "".join(part + separator for part, separator in kept).strip(" ,;:،؛；、，")
    if not inner or (not _STRONG.search(content) and any(_length(part) > LONGEST_PART for part, _ in kept)):
        return ""
    opening = bracket[0][: bracket[0].index(content)]
    return f"{opening}{inner}{bracket[0][-1]}"
