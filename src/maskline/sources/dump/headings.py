"""Headings of sections without prose."""

import re
from functools import lru_cache

from maskline.sources.dump.aliases import APPENDICES, words
from maskline.sources.dump.siteinfo import fold

_INVISIBLE = re.compile(r"[\xad\u200b-\u200f\u2060\ufeff]")
_MARKUP = re.compile(r"'{2,}|<[^<>]*>|\[\[(?:[^\[\]|]*\|)?|\]\]|\{\{[^{}]*\}\}")
_JOINT = re.compile(
    r"\s*[,;/&+、・·•|،؛]\s*|\s*[–—-]\s*|\s+(?=[وו][^\W\d_])|\s+(?:and|und|et|y|e|i|и|і|й|та|или|og|och|ja|és|și|şi|a|ve|en|dan|và|և|ու|და|"
    r"और|एवं|व|तथा|আর|ও|এবং|اور|و|και|및|eta|kaj|ir|un|agus|na|at|dhe|va|və|мен|жана|және|һәм|ба|ва)\s+"
    r"|(?<=[^\W\d_a-zа-я])(?:と|及び|および|和|及|与|與|跟|และ|និង)(?=[^\W\d_])"
)
_AND = ("و", "ו")
"""Words for "and" that are written with the word after them."""
LONGEST = 200
"""Characters of the longest heading that is looked at."""


def is_appendix(heading: str) -> bool:
    """Return whether a section with this heading has no prose: its references, notes, links or reading.

    A heading may name several of them: "Notes and references".
    """
    return len(heading) <= LONGEST and _is_appendix(heading)


@lru_cache(maxsize=4096)
def _is_appendix(heading: str) -> bool:
    name = _folded(heading)
    if name in _KNOWN:
        return True
    parts = [part for part in _JOINT.split(name) if part]
    return len(parts) > 1 and all(part in _KNOWN or (part[0] in _AND and part[1:] in _KNOWN) for part in parts)


def _folded(heading: str) -> str:
    return fold(_INVISIBLE.sub("", _MARKUP.sub("", heading))).strip(" :：.。")


_KNOWN = frozenset(map(_folded, words(APPENDICES)))
