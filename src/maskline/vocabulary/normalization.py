"""Normalization of text before it is split into words: one policy for each language, defined here alone.

A policy is saved in tokenizer.json as a normalizer, so everything that loads the tokenizer applies the same one:
training, fine-tuning, and `transformers` elsewhere. Nothing here looks across a space. Unless params.yaml says
otherwise:

- Unicode form: NFC, which gives آ and ا with a separate madda the same letter. Languages of Arabic script get NFKC,
  because old software and PDF files write their words with compatibility characters: ﷲ becomes الله, ﻻ becomes لا. In
  other languages NFKC would lose more: ² becomes 2, … becomes three full stops.
- Invisible characters are removed: direction marks, soft hyphens, byte order marks, controls. The joiners U+200C and
  U+200D stay in languages whose spelling needs them (Persian می‌رود is not می رود); only a U+200C at the edge of a word,
  where it has no effect, is removed.
- Tatweel ـ, which only stretches a line, is removed in every language.
- Tashkeel, the marks for short vowels, stay: they distinguish words, and are rare in prose (0.7 % of the characters of
  Arabic Wikipedia).
- Digits stay as they are: ٣ and 3 have different ids, because texts mix them on purpose (dates, phone numbers).
- Letters stay as they are: أ إ آ and ا, ى and ي, ة and ه are often confused in typing, but are different letters.

Lower-casing removes no marks: hamza and madda belong to their letter. `strip_accents` removes marks, in all scripts.
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
    joiners: str = "remove"
    """The meaning of `joiners: auto`."""
    spellings: tuple[tuple[str, str], ...] = ()
    """Other encodings of a letter -> the letter."""
    letters: tuple[tuple[str, str], ...] = ()
    """Letters that `letters: unify` replaces."""
    lowercase: tuple[tuple[str, str], ...] = ()
    """Capitals whose small letters differ from those of other languages."""


_ARABIC = Policy("nfkc", letters=(("[أإآٱ]", "ا"), ("ى", "ي"), ("ة", "ه")))
# Arabic keyboards have no ی and ک, so texts also have the Arabic letters, which look alike.
_PERSIAN = Policy("nfkc", "keep", letters=(("[يى]", "ی"), ("ك", "ک")))
_TURKIC = Policy(lowercase=(("İ", "i"), ("I", "ı")))
_INDIC = Policy(joiners="keep")

POLICIES = {
    **dict.fromkeys(("ar", "arz", "ary", "aeb", "acm", "apc"), _ARABIC),
    **dict.fromkeys(("fa", "ps", "sd", "glk", "mzn", "azb"), _PERSIAN),
    "ur": _PERSIAN._replace(letters=(*_PERSIAN.letters, ("ه", "ہ"))),
    "ckb": _PERSIAN._replace(spellings=(("ه\u200c", "ە"),)),  # how ە was typed before Unicode had it
    "ug": Policy("nfkc"),
    **dict.fromkeys(("tr", "az", "crh", "gag"), _TURKIC),
    **dict.fromkeys(["as", "bn", "gu", "hi", "kn", "ml", "mr", "ne", "or", "pa", "sa", "si", "ta", "te"], _INDIC),
}
"""ISO 639 code -> policy; other languages have `Policy()`."""

_TATWEEL = "\u0640"
# Not U+0653 to U+0655, madda and hamza, which belong to letters.
_TASHKEEL = (
    "\u0610-\u061a\u064b-\u0652\u0656-\u065e\u0670\u06d6-\u06dc\u06df-\u06e4"
    "\u06e7\u06e8\u06ea-\u06ed\u08d3-\u08e1\u08e3-\u08ff"
)
_CONTROLS = r"[\p{Cc}\p{Cf}\p{Co}\x{FFFD}&&[^\t\n\r\x{200C}\x{200D}]]"
_USELESS_JOINERS = r"(?<![\w\x{200C}])\x{200C}+|\x{200C}+(?!\w)"


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
    keep_joiners = (policy.joiners if chosen.joiners == "auto" else chosen.joiners) == "keep"
    if chosen.letters == "unify" and not policy.letters:
        raise UserError(
            f"tokenizer.normalization.letters: maskline has no letters of {language} to unify: set it to keep"
        )
    removed = _TATWEEL * (chosen.tatweel == "remove") + _TASHKEEL * (chosen.tashkeel == "remove")
    pairs = list(policy.letters) if chosen.letters == "unify" else []
    if chosen.digits == "ascii":
        pairs += [(f"[{chr(0x660 + digit)}{chr(0x6F0 + digit)}]", str(digit)) for digit in range(10)]
    if params.lowercase:
        pairs += policy.lowercase
    return Sequence(
        [
            *([NFKC()] if unicode == "nfkc" else []),
            *([_replace(_CONTROLS, "")] if keep_joiners else []),  # clean_text below would remove joiners too
            *(_replace(*pair) for pair in policy.spellings),
            *([_replace(_USELESS_JOINERS, "")] if keep_joiners else []),
            *([_replace(f"[{removed}]", "")] if removed else []),
            NFC(),  # after the characters between a letter and its mark are removed
            *(_replace(*pair) for pair in pairs),
            BertNormalizer(
                clean_text=not keep_joiners,
                handle_chinese_chars=True,
                strip_accents=params.strip_accents,
                lowercase=params.lowercase,
            ),
        ]
    )


def _replace(pattern: str, content: str) -> Replace:
    return Replace(Regex(pattern), content)
