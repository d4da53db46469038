"""Checks of cleaned text: leftover markup, and the broken punctuation that removed markup leaves."""

import re
from collections import Counter

MARKUP = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|</?(?:ref|br|div|span|small|su[bp]|nowiki|math|gallery|table|t[rd])\b(?:[^<>]*>)?|"
    r"&(?:lt|gt|amp|nbsp|quot|ndash|mdash|#\d+);|__|\|\||\bcolspan\b|\browspan\b|<!--|-->|'''|^==+",
    re.IGNORECASE | re.MULTILINE,
)
"""`{{ }} [[ ]] {| |} <ref &lt; __ ||` and similar markup."""
_SIGNS = ("{{", "}}", "[[", "]]", "{|", "|}", "<", "&", "__", "||", "span", "-->", "'''", "==")
"""Every match of `MARKUP` contains one of these."""
BROKEN_PUNCTUATION = re.compile(
    r"(?<![\w$\]])\([\s,;:،؛]*\)|"
    r"\([ ]?[,;،؛]|[,;،؛]\s*\)|[,،؛]\s*[,،؛](?!\w)|\s[,،؛](?=\s)|(?<=\S) {2,}(?=\S)|«\s*»|“\s*”"
)
"""Empty and half-empty brackets, commas after one another or after a space, double spaces, empty quotation marks."""


def leftover_markup(text: str) -> Counter[str]:
    """Return the markup that is left in `text`: markup -> how often."""
    for sign in _SIGNS:  # takes a tenth of the pattern's time
        if sign in text:
            return Counter(found[0].strip() for found in MARKUP.finditer(text))
    return Counter()


def broken_punctuation(text: str) -> Counter[str]:
    """Return the broken punctuation in `text`: the characters -> how often."""
    return Counter(found[0] for found in BROKEN_PUNCTUATION.finditer(text))
