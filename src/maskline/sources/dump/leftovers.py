"""What no cleaned text should hold: left-over markup, and the holes that left-out markup makes."""

import re
from collections import Counter

MARKUP = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|</?(?:ref|br|div|span|small|su[bp]|nowiki|math|gallery|table|t[rd])\b(?:[^<>]*>)?|"
    r"&(?:lt|gt|amp|nbsp|quot|ndash|mdash|#\d+);|__|\|\||\bcolspan\b|\browspan\b|<!--|-->|'''|^==+",
    re.IGNORECASE | re.MULTILINE,
)
"""`{{ }} [[ ]] {| |} <ref &lt; __ ||` and their kin."""
_SIGNS = ("{{", "}}", "[[", "]]", "{|", "|}", "<", "&", "__", "||", "span", "-->", "'''", "==")
"""What each match of `MARKUP` has one of."""
HOLES = re.compile(
    r"(?<![\w$\]])\([\s,;:،؛]*\)|"
    r"\([ ]?[,;،؛]|[,;،؛]\s*\)|[,،؛]\s*[,،؛](?!\w)|\s[,،؛](?=\s)|(?<=\S) {2,}(?=\S)|«\s*»|“\s*”"
)
"""Empty and half-empty brackets, commas after one another or after a space, double spaces, empty quotation marks."""


def residual_markup(text: str) -> Counter[str]:
    """Return what is left of markup in `text`: the markup itself -> how often."""
    if not any(sign in text for sign in _SIGNS):  # a tenth of what the pattern takes
        return Counter()
    return Counter(found[0].strip() for found in MARKUP.finditer(text))


def holes(text: str) -> Counter[str]:
    """Return the holes in `text`: what stands there -> how often."""
    return Counter(found[0] for found in HOLES.finditer(text))
