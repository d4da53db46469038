"""Whether a sentence goes on where ICU ends it.

The next word decides, and the one before: in "the U.S. Army" the sentence goes on, in "the U.S. The" it ends. What has
the shape of an abbreviation is taken for one in any language: initials, a short word without a vowel, a few capitals
alone. The words that have no such shape are listed in `abbreviations`.
"""

import re
import unicodedata

from maskline.sentences.abbreviations import TITLES, Rules

PARAGRAPH_ENDS = "\n\r\x85\u2028\u2029"
OPENING = "([{\"'«\u2039\u201c\u201d\u201e\u2018¿¡「『《〈【\uff08"
_MIDST = "….!?؟,;:،؛–—-/ªº"  # noqa: RUF001
_SPEECH = re.compile(r"(?:--|[\u2013\u2014])\s+[^\W\d_]")
_NUMBER = re.compile(r"\d+(?=[^\W\d_A-Za-z])")  # 320ق.م. is 320 ق.م. but 3D is a word
_LETTER = re.compile(r"[^\W\d_]")
_FIRST_WORD = re.compile(r"\W*(\w+['\u2019]|\w+(?![\w.]))")
_INITIALS = re.compile(r"(?:[^\W\d_][.\u06d4]-?)+")
_DEGREES = re.compile(r"(?:[^\W\d_]{2,4}\.){2,}")  # PGS.TS.
_ORDINAL = re.compile(r"(?:\d{1,2}|[IVXLC]+)\.")
_SHORT = re.compile(r"[^\W\d_]{1,3}\.")
_COUNTED = re.compile(r"[(\[]?(?:\d[\d.,/\u2013\xd7\u2070\xb9\xb2\xb3\u2074-\u207f-]*|[IVXLC]+)")
_UNITS = frozenset("km m cm mm kg g mg ha ft mi lb l ml kw mw hz км см мм кг га".split())  # noqa: RUF001, SIM905
"""Symbols of units, which no sentence abbreviates."""
# Words without a vowel, in alphabets that write vowels.
_VOWELLESS = re.compile(
    "[bcdfghjklmnpqrstvwxzßþðбвгджзклмнпрстфхцчшщљњћђџґβγδζθκλμνξπρσςτφχψბგდვზთკლმნპჟრსტფქღყშჩცძწჭხჯჰ]{2,5}\\."  # noqa: RUF001
)
_LONGEST_SHAPED = 6  # five letters and the full stop
_SYLLABIC = re.compile("[rlрл]")  # noqa: RUF001
_INDIC = re.compile(r"[\u0900-\u0eff]{1,4}\.")
_VIRAMA = 9  # the combining class of what joins two consonants to one sign
_CLOSING = {"”": "“", "’": "‘", "」": "「", "』": "『", '"': '"', "）": "（", ")": "("}  # noqa: RUF001
_GLUED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]")  # kana, Han, Hangul
_QUOTES = "\"'»\u201d\u201c\u2019"
_ENDS = ".!?,;:।؟،\u06d4"
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_JAPANESE = re.compile(r"[とのがはをにもでやなへ]|って|という|から|まで|など")
_CHINESE = re.compile(r"[^，。！？：；“”「」]{0,8}[说說道问問喊叫答曰]|[的之等是即为為]|可[见見]|一[句语語说說词詞]")  # noqa: RUF001


def begins_small(text: str) -> bool:
    """Return whether `text` begins with a small letter of a script that has capitals.

    Python calls a letter such as the Georgian ones lower case, of which there is no capital to begin a sentence.
    """
    first = text[:1]
    return first.islower() and has_case(first)


def has_case(letter: str) -> bool:
    """Return whether a sentence may begin with another form of `letter`."""
    return letter.title() != letter.lower()


def goes_on(sentence: str, following: str, rules: Rules, language: str) -> bool:
    """Return whether `following` continues `sentence`, of which the end is given, although ICU ends it."""
    if sentence[-1] in PARAGRAPH_ENDS:
        return False
    if sentence.endswith("@.") or begins_small(following.lstrip(OPENING)):  # 3 @.@ 5  Yahoo! was  "Who?" asked
        return True
    if following[0] in _MIDST:  # enough?…
        return not _speaks(sentence, following)
    if not (_LETTER.search(sentence) and _LETTER.search(following)):  # 1. Item
        return True
    if sentence[-1] in _CLOSING and _GLUED.match(following):
        return _quote_goes_on(sentence, following, language)
    return _is_said(sentence, following, rules) or _abbreviated(sentence, following, rules)


def _speaks(sentence: str, following: str) -> bool:
    """Return whether a dash begins `following` as it begins what somebody says, after a whole sentence."""
    found = _SPEECH.match(following)
    return found is not None and found[0][-1].isupper() and sentence.rstrip()[-1] in ".!?"


def _is_said(sentence: str, following: str, rules: Rules) -> bool:
    """Return whether `sentence` is what somebody says, and `following` tells who, in a script without capitals."""
    if not rules.speech or sentence[0] not in OPENING or sentence.rstrip()[-1] not in _QUOTES:
        return False
    return any(word.strip(_ENDS) in rules.speech for word in following.split(maxsplit=4)[:4])


def _abbreviated(sentence: str, following: str, rules: Rules) -> bool:
    """Return whether the full stop at the end of `sentence` marks an abbreviation or an ordinal in its midst."""
    *before, end = sentence.rsplit(maxsplit=2)
    last = _NUMBER.sub("", end.lstrip(OPENING), count=1)
    inside = last.endswith((")", "]")) and _in_brackets(sentence)
    if inside:
        last = last.rstrip(")]")
    if not last.endswith((".", "\u06d4")):
        return False
    if not inside and (last in rules.ends or (before and before[-1] + last in rules.ends)):
        return False
    alone = not before and last.isupper() and _SHORT.fullmatch(last) is not None
    numbered = rules.ordinals and _ORDINAL.fullmatch(last) and not (before and before[-1].endswith("."))  # not "p. 3."
    if not (alone or numbered or _is_abbreviation(last, following, rules)):
        return False
    opener = _FIRST_WORD.match(following)
    if opener is None or _is_title(last, rules):
        return True
    word = opener[1].replace("\u2019", "'")
    return word not in rules.openers and not (len(word) > 1 and _is_unit(last, sentence, rules))


def _in_brackets(sentence: str) -> bool:
    """Return whether a bracket closes at the end of `sentence` that opened in its midst: no sentence ends in there."""
    ended = sentence.rstrip()
    return (ended.endswith(")") and ended.rfind("(") > 0) or (ended.endswith("]") and ended.rfind("[") > 0)


def _is_title(word: str, rules: Rules) -> bool:
    """Return whether `word` is a title in small letters, which a name follows and nothing else."""
    return word in TITLES and word in rules.abbreviations


def _is_unit(word: str, sentence: str, rules: Rules) -> bool:
    """Return whether `word` is a unit behind a number, or may be one, with more than "In 1918 y." before."""
    words = sentence.split()
    return (
        (len(words) > 4 or (len(words) > 1 and word[:-1] in _UNITS))
        and _COUNTED.fullmatch(words[-2]) is not None
        and begins_small(word)
        and word.count(".") == 1
        and word not in rules.abbreviations
    )


def _is_abbreviation(word: str, following: str, rules: Rules) -> bool:
    small = word[:1].lower() + word[1:]  # as it is spelled where no sentence begins with it
    spellings = {word, small, small.rpartition("'")[2]}  # l'Av.
    if not spellings.isdisjoint(rules.abbreviations) or small in TITLES or small.endswith("str."):
        return True
    if len(word) > _LONGEST_SHAPED and "." not in word[:-1] and not rules.danda:  # most words, for speed
        return False
    letters = _letters(word)
    if (
        _INITIALS.fullmatch(letters)
        or (letters.isupper() and _DEGREES.fullmatch(letters))
        or (rules.danda and _INDIC.fullmatch(letters))
    ):
        return True
    return _is_vowelless(letters, rules) and _is_of_one_script(letters, following)


def _is_vowelless(letters: str, rules: Rules) -> bool:
    small = letters.lower()
    found = letters[1:].islower() and _VOWELLESS.fullmatch(small) is not None
    return found and not (rules.syllabic and _SYLLABIC.search(small))


def _is_of_one_script(word: str, following: str) -> bool:
    """Return whether a name may follow: behind "the domain .fr." in Arabic none does."""
    first = _LETTER.search(following)
    return first is None or has_case(first[0]) == has_case(word[0])


def _letters(word: str) -> str:
    """Return `word` without the marks on its letters; of an Indic word, the first letter of each of its signs."""
    if word.isascii():
        return word
    letters = ""
    joined = False
    for character in unicodedata.normalize("NFD", word):
        if unicodedata.category(character)[0] == "M":
            joined = unicodedata.combining(character) == _VIRAMA
        else:
            letters += "" if joined else character
            joined = False
    return letters


def _quote_goes_on(sentence: str, following: str, language: str) -> bool:
    """Return whether the sentence goes on behind a closing quote or bracket without a space, as in Chinese.

    What is said alone and what somebody wrote are sentences of their own; what is asked or named in the midst is none.
    """
    if _HANGUL.match(following):  # "간다."라고
        return True
    opened = sentence.rfind(_CLOSING[sentence[-1]], 0, -1)
    begins = not sentence[: max(0, opened)].strip()
    if sentence[-1] in ")）":  # noqa: RUF001
        return opened >= 0 and not begins
    if language.startswith("ja"):
        return _JAPANESE.match(following) is not None
    asked = opened >= 0 and not begins and sentence[-2] in "？！?!"  # noqa: RUF001
    return asked or _CHINESE.match(following) is not None
