"""The words of a text as BM25 counts them.

Text is brought to NFKC and case-folded, cut into words by ICU's rules (UAX #29; Chinese, Japanese and Thai by its
dictionaries), and stemmed by the Snowball stemmer of the language where there is one. No word is left out: those that
are in every text weigh next to nothing anyway. The Arabic stemmer takes out vowel signs and tatweel.
"""

import unicodedata
from collections.abc import Callable

from icu4py.breakers import WordBreaker
from pydantic import TypeAdapter, ValidationError

from maskline.core.errors import UserError, quoted
from maskline.core.section import Language

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""ISO 639 code -> the stemmer's name."""
_DOTTED = str.maketrans({"I": "\u0131", "\u0130": "i"})


def has_stems(language: str) -> bool:
    """Return whether the words of `language` are stemmed."""
    return language.partition("-")[0] in STEMMERS


def analyzer(language: str) -> Callable[[str], list[str]]:
    """Return what gives the words of a text in `language`, an ISO 639 code, in their order.

    Raises:
        UserError: it is no such code.
    """
    import Stemmer

    try:
        TypeAdapter(Language).validate_python(language)
    except ValidationError:
        raise UserError(f"language {quoted(language)} is no code of ISO 639: give one, such as en") from None
    code = language.partition("-")[0]
    stemmer = Stemmer.Stemmer(STEMMERS[code]) if code in STEMMERS else None

    def words(text: str) -> list[str]:
        folded = unicodedata.normalize("NFKC", text)
        folded = (folded.translate(_DOTTED) if code in {"tr", "az"} else folded).casefold()
        found = [word for word in WordBreaker(folded, language) if any(map(str.isalnum, word))]
        return stemmer.stemWords(found) if stemmer else found

    return words
