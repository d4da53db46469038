"""What becomes of a text before it is cut into words: one policy for each language, in this place alone.

A policy ends up in tokenizer.json as a normalizer, so that whatever loads the tokenizer applies the same one: training,
fine-tuning, and `transformers` in somebody else's hands. Nothing here looks across a space. Unless params.yaml says
otherwise:

- Unicode form. NFC makes one letter of آ and of ا with a madda typed apart. Languages of Arabic script get NFKC, whose
  compatibility forms are how old software and PDF files spelled the same words: ﷲ is الله, ﻻ is لا. Its price is small
  there, and larger elsewhere: ² is 2, … is three full stops.
- Invisible characters go: direction marks, soft hyphens, byte order marks, controls. The joiners U+200C and U+200D stay
  where a language spells with them (Persian می‌رود is no می رود), but no U+200C at the edge of a word, where it shows
  nothing.
- Tatweel ـ stretches a line and spells nothing: it goes in every language.
- Tashkeel, the short vowels, stay: they tell words apart, and are rare in prose (0.7 % of what Arabic Wikipedia's
  articles are written with).
- Digits stay as they are written: ٣ and 3 are different ids, as a text mixes them on purpose (dates, phone numbers).
- Letters stay: أ إ آ and ا, ى and ي, ة and ه are often confused in typing, but are different letters.

Lower-casing strips no mark: hamza and madda are the letter's own. `strip_accents` does that, in all scripts.
"""

# ruff: noqa: RUF001, RUF002, RUF003  # the letters that look like others are the point here
from typing import NamedTuple

from tokenizers import Regex
from tokenizers.normalizers import NFC, NFKC, BertNormalizer, Normalizer, Replace, Sequence

from maskline.core.errors import UserError
from maskline.vocabulary.settings import TokenizerParams


class Policy(NamedTuple):
    """What a language needs; the pairs are a pattern and what it becomes."""

    unicode: str = "nfc"
    """What `auto` means; likewise below."""
    joiners: str = "remove"
    spellings: tuple[tuple[str, str], ...] = ()
    """Two ways to encode one letter."""
    letters: tuple[tuple[str, str], ...] = ()
    """What `letters: unify` makes one."""
    lowercase: tuple[tuple[str, str], ...] = ()
    """Capitals whose small letters are not those of other languages."""


_ARABIC = Policy("nfkc", letters=(("[أإآٱ]", "ا"), ("ى", "ي"), ("ة", "ه")))
# Keyboards for Arabic have no ی and ک; the letters look alike, and Wikipedias are full of both.
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
"""ISO 639 code -> its policy; other languages have that of `Policy()`."""

_TATWEEL = "\u0640"
# Not U+0653 to U+0655, madda and hamza, which belong to letters.
_TASHKEEL = (
    "\u0610-\u061a\u064b-\u0652\u0656-\u065e\u0670\u06d6-\u06dc\u06df-\u06e4"
    "\u06e7\u06e8\u06ea-\u06ed\u08d3-\u08e1\u08e3-\u08ff"
)
_CONTROLS = r"[\p{Cc}\p{Cf}\p{Co}\x{FFFD}&&[^\t\n\r\x{200C}\x{200D}]]"
_USELESS_JOINERS = r"(?<![\w\x{200C}])\x{200C}+|\x{200C}+(?!\w)"


def policy_of(language: str) -> Policy:
    """Return the policy of an ISO 639 code; what follows a hyphen is left out."""
    return POLICIES.get(language.partition("-")[0], Policy())


def normalizer(params: TokenizerParams, language: str) -> Normalizer:
    """Return the normalizer of a language with what `params` decides.

    Raises:
        UserError: letters are to be unified, and nothing says which.
    """
    policy, chosen = policy_of(language), params.normalization
    unicode = policy.unicode if chosen.unicode == "auto" else chosen.unicode
    keep_joiners = (policy.joiners if chosen.joiners == "auto" else chosen.joiners) == "keep"
    if chosen.letters == "unify" and not policy.letters:
        raise UserError(
            f"tokenizer.normalization.letters: no letters of {language} are known to be confused: keep them"
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
            *([_replace(_CONTROLS, "")] if keep_joiners else []),  # BertNormalizer's own clean-up takes joiners along
            *(_replace(*pair) for pair in policy.spellings),
            *([_replace(_USELESS_JOINERS, "")] if keep_joiners else []),
            *([_replace(f"[{removed}]", "")] if removed else []),
            NFC(),  # after what stood between a letter and its mark is gone
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
