"""Text of any script in a line that runs from left to right."""

import unicodedata

_ISOLATE, _END = "\u2068", "\u2069"
_RIGHT_TO_LEFT = frozenset(("R", "AL", "AN"))


def isolated(text: str) -> str:
    """Return `text` so that its own script gives its direction, and not that of what stands beside it.

    Otherwise the numbers after an Arabic word change places in a terminal that reorders lines (Unicode Annex 9).
    """
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return f"{_ISOLATE}{text}{_END}"
    return text
