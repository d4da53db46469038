"""How an answer is compared with those that people gave: exact match and F1, by the rules of the language.

Both are taken from the texts of answers, never from tokens of the model. Before, a text is normalized:

- Letters are lower-cased, and white space is one space.
- English, as the scorer of SQuAD (Rajpurkar et al. 2016): the punctuation of ASCII goes, and the articles a, an, the.
- Every other language, much as MLQA (Lewis et al. 2020): the text is in NFC, and all punctuation of Unicode goes. So do
  tashkeel and tatweel, which Arabic texts have or lack at will; hamza and madda are of the letter. Articles stay: in
  Arabic ال is a part of the word, and a word that merely begins with these letters would be cut.
- Where nothing would be left, such as of "+" or "The", punctuation and articles stay.

F1 is of the words that both have, as often as both have them. Languages that write no spaces have no words to be had
without a lexicon: there each character is one, and a run of Latin letters or digits is one.

Of several answers the one counts that serves a prediction best. To a question without an answer, None is right and any
text is wrong; where there is an answer, None is wrong.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

SPACELESS = {"zh", "yue", "wuu", "ja", "th", "lo", "km", "my", "bo"}
"""Languages (ISO 639) that write no spaces between words."""
TATWEEL = "\u0640"

_ARTICLE = re.compile(r"\b(a|an|the)\b")
# Short vowels and signs of recitation, without U+0653 to U+0655, madda and hamza.
_MARKS_AND_TATWEEL = re.compile(
    f"[{TATWEEL}\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"
)
_CHARACTERS = re.compile(r"[0-9a-z]+|\S")

Measure = Callable[[str, str, str], float]


def exact_match(predicted: str | None, golds: Sequence[str], language: str) -> float:
    """Return 1.0 if a prediction is one of `golds`, else 0.0."""
    return _best(predicted, golds, language, _exact)


def f1(predicted: str | None, golds: Sequence[str], language: str) -> float:
    """Return the F1 of the words of a prediction and of that of `golds` which is most like it."""
    return _best(predicted, golds, language, _overlap)


def words(text: str, language: str) -> list[str]:
    """Return what F1 is taken of: normalized words, or characters where a language has no spaces."""
    whole = normalized(text, language)
    return _CHARACTERS.findall(whole) if _code(language) in SPACELESS else whole.split()


def normalized(text: str, language: str) -> str:
    """Return a text as it is compared."""
    low = text.lower()
    if _code(language) == "en":
        bare = _ARTICLE.sub(" ", "".join(character for character in low if character not in string.punctuation))
    else:
        low = _MARKS_AND_TATWEEL.sub("", unicodedata.normalize("NFC", low))
        bare = "".join(character for character in low if not _is_punctuation(character))
    return " ".join(bare.split()) or " ".join(low.split())


def _best(predicted: str | None, golds: Sequence[str], language: str, measure: Measure) -> float:
    if predicted is None or not golds:
        return float(predicted is None and not golds)
    return max(measure(predicted, gold, language) for gold in golds)


def _exact(predicted: str, gold: str, language: str) -> float:
    return float(normalized(predicted, language) == normalized(gold, language))


def _overlap(predicted: str, gold: str, language: str) -> float:
    mine, theirs = Counter(words(predicted, language)), Counter(words(gold, language))
    if not mine and not theirs:
        return 1.0
    return 2 * (mine & theirs).total() / (mine.total() + theirs.total())


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character).startswith("P")


def _code(language: str) -> str:
    return language.partition("-")[0]
