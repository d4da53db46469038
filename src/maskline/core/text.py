"""Text from elsewhere, such as labels and names, shown as it is and no more: it steers no terminal and no page."""

import re

_MARKDOWN = re.compile(r"([\\`*~$<&|\[\]]|(?<![^\W_])_|_(?![^\W_]))")  # a _ within a word means nothing there
_JOINERS = frozenset("\u200c\u200d")
"""What Persian and others spell with; Python does not count it as printable."""


def printable(text: str) -> str:
    """Return `text` in one line, with another character in place of each that has no shape.

    Such characters move the cursor of a terminal, colour it, or turn the direction of the line.
    """
    line = " ".join(text.splitlines())
    return "".join(c if c.isprintable() or c in _JOINERS else "\N{REPLACEMENT CHARACTER}" for c in line)


def escape(text: str) -> str:
    """Return `text` as Markdown that shows it as it is, in one line."""
    return _MARKDOWN.sub(r"\\\1", printable(text))
