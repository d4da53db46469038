"""Language conversion: `-{ }-` in the wikis whose language is written in several scripts or vocabularies.

A reader chooses a variant. `-{zh-hans:…;zh-hant:…}-` has a text for each, and `-{…}-` a text that is not converted. One
variant is chosen here for each language. In all other wikis `-{` are two characters.
"""

import re

_VARIANTS = {
    "zh": ("zh-hans", "zh-cn", "zh-my", "zh-sg", "zh", "zh-hant", "zh-tw", "zh-hk", "zh-mo"),
    "sr": ("sr-ec", "sr-cyrl", "sr", "sr-el", "sr-latn"),
    "sh": ("sh-latn", "sh", "sh-cyrl"),
    "kk": ("kk-cyrl", "kk-kz", "kk", "kk-latn", "kk-tr", "kk-arab", "kk-cn"),
    "ku": ("ku-latn", "ku", "ku-arab"),
    "uz": ("uz-latn", "uz", "uz-cyrl"),
    "tg": ("tg-cyrl", "tg", "tg-latn"),
    "crh": ("crh-latn", "crh", "crh-cyrl"),
    "iu": ("ike-cans", "iu", "ike-latn"),
    "gan": ("gan-hans", "gan", "gan-hant"),
    "wuu": ("wuu-hans", "wuu", "wuu-hant"),
    "shi": ("shi-latn", "shi", "shi-tfng"),
    "zgh": ("zgh", "zgh-latn"),
    "ban": ("ban", "ban-bali", "ban-x-dharma", "ban-x-palmleaf", "ban-x-pku"),
    "tly": ("tly", "tly-cyrl"),
    "mni": ("mni", "mni-beng"),
}
"""Language of a wiki -> its variants; the first of them that a rule has is chosen."""
_TRADITIONAL = ("hant", "tw", "hk", "mo")

_BLOCK = re.compile(r"-\{((?:[^{}]|(?<!-)\{(?!\{)[^{}]*\}(?!-))*)\}-")
_HIDE = frozenset("TH-")
_FLAG = frozenset("ADTRHNS-")
DEEPEST = 8
"""Levels of nested conversions that are read."""


def variants_of(language: str) -> tuple[str, ...]:
    """Return the variants of a language, the chosen one first; () if its wikis have none."""
    name, _, kind = language.casefold().partition("-")
    found = _VARIANTS.get(name, ())
    if kind.startswith(_TRADITIONAL):
        asked = [variant for variant in found if variant.endswith(_TRADITIONAL)]
    else:
        asked = [variant for variant in found if kind and variant.endswith(kind)]
    return (*asked, *(variant for variant in found if variant not in asked))


def converted(text: str, variants: tuple[str, ...]) -> str:
    """Return `text` in the first of `variants` that its rules have."""
    if not variants or "-{" not in text:
        return text
    for _ in range(DEEPEST):  # the innermost first
        text, count = _BLOCK.subn(lambda block: _chosen(block[1], variants), text)
        if not count:
            break
    return text


def _chosen(content: str, variants: tuple[str, ...]) -> str:
    """Return what the content of `-{ }-` shows."""
    head, bar, rules = content.partition("|")
    flags = [flag.strip() for flag in head.split(";")]
    if not bar or not all(flag in _FLAG or flag.casefold() in variants for flag in flags):
        flags, rules = [], content  # the bar is that of a link
    if not _HIDE.isdisjoint(flags):  # the title, rules for later, and rules that end
        return ""
    if "R" in flags:
        return rules
    found = _rules(rules, variants)
    if not found:
        return rules
    return next((found[variant] for variant in variants if variant in found), rules)


def _rules(text: str, variants: tuple[str, ...]) -> dict[str, str]:
    """Return the text of each variant in `zh-cn:…;zh-tw:…`; a rule may have `from=>` before its variant."""
    name = "|".join(map(re.escape, variants))
    starts = list(re.finditer(rf"(?:^|;)\s*(?:[^;:]*?=>\s*)?({name})\s*:", text, re.IGNORECASE))
    if not starts or text[: starts[0].start()].strip():
        return {}
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {
        start[1].casefold(): text[start.end() : end].strip().removesuffix(";").strip()
        for start, end in zip(starts, ends, strict=True)
    }
