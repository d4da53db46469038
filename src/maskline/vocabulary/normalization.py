"""Normalization of text before it is split into words: one policy for each language, defined here alone.

A policy is saved in tokenizer.json as a normalizer, so everything that loads the tokenizer applies the same one:
training, fine-tuning, and `transformers` elsewhere. Nothing here looks across a space. Unless params.yaml says
otherwise:

- Unicode form: NFC, which gives آ and ا with a separate madda the same letter. Languages of Arabic script get NFKC,
  because old software and PDF files write their words with compatibility characters: ﷲ becomes الله, ﻻ becomes لا. In
  other languages NFKC would lose more: ² becomes 2, … becomes three full stops.
- What separates words in the corpus separates them here: form feed, vertical tab, NEL and U+200B, the zero-width space
  with which Khmer, Thai, Lao and Burmese part their words, become spaces.
- Invisible characters are removed: direction marks, soft hyphens, byte order marks, controls. The joiners U+200C and
  U+200D stay behind letters of the scripts that spell with them, whatever the language: Arabic (Persian می‌رود is not
  می رود), Mongolian and those of India and its neighbours, which have a virama. Only a U+200C at the edge of a word,
  where it has no effect, is removed. Arabic itself spells without them. There a U+200C parts the words of a foreign
  name more often than not (38 of 52 places in 6,565 articles: البلاي‌ستيشن, بي‌إم‌دبليو), so it becomes a space; before
  a single letter it is a slip, and goes.
- Tatweel ـ, which only stretches a line, is removed in every language.
- Tashkeel, the marks for short vowels, stay: they distinguish words, and are rare in prose (0.7 % of the characters of
  Arabic Wikipedia).
- Digits stay as they are: ٣ and 3 have different ids, because texts mix them on purpose (dates, phone numbers). `ascii`
  makes 3 of the decimal digit three of every script.
- Letters stay as they are: أ إ آ and ا, ى and ي, ة and ه are often confused in typing, but are different letters.

Lower-casing removes no marks: hamza and madda belong to their letter. `strip_accents` removes marks, in all scripts.
A Greek Σ at the end of a word becomes ς.
"""

# ruff: noqa: RUF001, RUF002, RUF003  # the letters that look like others are the point here
from typing import NamedTuple

from tokenizers import Regex
from tokenizers.normalizers import NFC, NFKC, BertNormalizer, Normalizer, Replace, Sequence

from maskline.core.errors import UserError
from maskline.vocabulary.settings import TokenizerParams


class Policy(NamedTuple):
    """The defaults of a language. A pair is a pattern and its replacement."""

    unicode: str = "nfc"
    """The meaning of `unicode: auto`."""
    joiners: str = "spell"
    """The meaning of `joiners: auto`: `spell` keeps them in the scripts that spell with them, `part` parts words."""
    spellings: tuple[tuple[str, str], ...] = ()
    """Other encodings of a letter -> the letter."""
    letters: tuple[tuple[str, str], ...] = ()
    """Letters that `letters: unify` replaces."""
    lowercase: tuple[tuple[str, str], ...] = ()
    """Capitals whose small letters differ from those of other languages."""


_ARABIC = Policy("nfkc", "part", letters=(("[أإآٱ]", "ا"), ("ى", "ي"), ("ة", "ه")))
# Arabic keyboards have no ی and ک, so texts also have the Arabic letters, which look alike.
_PERSIAN = Policy("nfkc", letters=(("[يى]", "ی"), ("ك", "ک")))
_URDU = _PERSIAN._replace(letters=(*_PERSIAN.letters, ("ه", "ہ")))
_TURKIC = Policy(lowercase=(("İ", "i"), ("I", "ı")))

POLICIES = {
    **dict.fromkeys(("ar", "arz", "ary", "aeb", "acm", "apc"), _ARABIC),
    **dict.fromkeys(("fa", "prs", "ps", "sd", "glk", "mzn", "azb", "lrc", "bqi", "bal", "haz"), _PERSIAN),
    **dict.fromkeys(("ur", "pnb", "skr", "khw", "hnd", "phr"), _URDU),
    "ckb": _PERSIAN._replace(spellings=(("ه\u200c", "ە"),)),  # how ە was typed before Unicode had it
    **dict.fromkeys(("ug", "ks", "sdh", "brh"), Policy("nfkc")),
    **dict.fromkeys(("tr", "az", "crh", "gag"), _TURKIC),
}
"""ISO 639 code -> policy; other languages have `Policy()`."""

_TATWEEL = "\u0640"
# Not U+0653 to U+0655, madda and hamza, which belong to letters.
_TASHKEEL = (
    "\u0610-\u061a\u064b-\u0652\u0656-\u065e\u0670\u06d6-\u06dc\u06df-\u06e4"
    "\u06e7\u06e8\u06ea-\u06ed\u08d3-\u08e1\u08e3-\u08ff"
)
_SEPARATORS = r"[\x0B\x0C\x1C-\x1F\x{85}\x{200B}]"
_CONTROLS = r"[\p{Cc}\p{Cf}\p{Co}\x{FFFD}&&[^\t\n\r\x{200C}\x{200D}]]"
_JOINERS = r"[\x{200C}\x{200D}]"
_USELESS_JOINERS = r"(?<![\w\x{200C}])\x{200C}+|\x{200C}+(?!\w)"
# Those whose letters join, and those with a virama that joins consonants, which is not how Thai and Tibetan use theirs.
_SCRIPTS = """
    Arabic Syriac Mongolian Mandaic Phags_Pa Hanifi_Rohingya
    Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Myanmar Khmer Tai_Tham Balinese
    Sundanese Javanese Batak Tagalog Syloti_Nagri Saurashtra Meetei_Mayek Brahmi Kaithi Chakma Sharada Khojki Khudawadi
    Grantha Newa Tirhuta Siddham Modi Takri Ahom Dogra Nandinagari Bhaiksuki Masaram_Gondi Gunjala_Gondi
"""
_SPELLING = "".join(rf"\p{{{script}}}" for script in _SCRIPTS.split())
_OTHER_JOINERS = rf"(?<![{_SPELLING}\p{{M}}\x{{200C}}\x{{200D}}]){_JOINERS}+"
_PARTING = r"(?<=[\p{Arabic}\p{M}])\x{200C}+(?=\p{Arabic}\p{M}*\p{Arabic})"
_FINAL_SIGMA = r"(?<=\p{L}|\p{L}\p{M})Σ(?!\p{M}*\p{L})"
# The zeros of the decimal digits of Unicode 15, which nine others follow; those of ASCII are left out. They are written
# out because `unicodedata` differs between versions of Python.
_ZEROS = """
    660 6F0 7C0 966 9E6 A66 AE6 B66 BE6 C66 CE6 D66 DE6 E50 ED0 F20 1040 1090 17E0 1810 1946 19D0 1A80 1A90 1B50
    1BB0 1C40 1C50 A620 A8D0 A900 A9D0 A9F0 AA50 ABF0 FF10 104A0 10D30 11066 110F0 11136 111D0 112F0 11450 114D0
    11650 116C0 11730 118E0 11950 11C50 11D50 11DA0 11F50 16A60 16AC0 16B50 1D7CE 1D7D8 1D7E2 1D7EC 1D7F6 1E140
    1E2F0 1E4F0 1E950 1FBF0
"""


def policy_of(language: str) -> Policy:
    """Return the policy of an ISO 639 code; the part after a hyphen is ignored."""
    return POLICIES.get(language.partition("-")[0], Policy())


def normalizer(params: TokenizerParams, language: str) -> Normalizer:
    """Return the normalizer of a language with the choices of `params`.

    Raises:
        UserError: `letters` is `unify`, and the language has no letters to unify.
    """
    policy, chosen = policy_of(language), params.normalization
    unicode = policy.unicode if chosen.unicode == "auto" else chosen.unicode
    joiners = policy.joiners if chosen.joiners == "auto" else chosen.joiners
    if chosen.letters == "unify" and not policy.letters:
        raise UserError(
            f"tokenizer.normalization.letters: maskline has no letters of {language} to unify: set it to keep"
        )
    removed = _TATWEEL * (chosen.tatweel == "remove") + _TASHKEEL * (chosen.tashkeel == "remove")
    pairs = list(policy.letters) if chosen.letters == "unify" else []
    if chosen.digits == "ascii":
        zeros = [int(zero, 16) for zero in _ZEROS.split()]
        pairs += [(f"[{''.join(chr(zero + digit) for zero in zeros)}]", str(digit)) for digit in range(10)]
    if params.lowercase:
        pairs += [*policy.lowercase, (_FINAL_SIGMA, "ς")]
    return Sequence(
        [
            _replace(_SEPARATORS, " "),
            *([NFKC()] if unicode == "nfkc" else []),
            _replace(_CONTROLS, ""),
            *(_replace(*pair) for pair in policy.spellings),
            *(_replace(*pair) for pair in _JOINING[joiners]),
            *([_replace(f"[{removed}]", "")] if removed else []),
            NFC(),  # after the characters between a letter and its mark are removed
            *(_replace(*pair) for pair in pairs),
            BertNormalizer(
                clean_text=False,  # it would remove joiners too
                handle_chinese_chars=True,
                strip_accents=params.strip_accents,
                lowercase=params.lowercase,
            ),
        ]
    )


_JOINING = {
    "keep": [(_USELESS_JOINERS, "")],
    "spell": [(_OTHER_JOINERS, ""), (_USELESS_JOINERS, "")],
    "part": [(_PARTING, " "), (_JOINERS, "")],
    "remove": [(_JOINERS, "")],
}
"""Joiners: pairs of a pattern and its replacement, in order."""


def _replace(pattern: str, content: str) -> Replace:
    return Replace(Regex(pattern), content)
