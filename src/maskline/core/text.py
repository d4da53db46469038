"""Text from elsewhere, such as labels and names, shown as it is and no more: it steers no terminal and no page."""

import re
import textwrap

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


def wrapped(line: str, width: int, indent: int = 2) -> str:
    """Return `line` as lines of at most `width` characters, each after the first one indented.

    It breaks between words, and never between a number and its name before it. A word stays whole.
    """
    joined = re.sub(r" (?=[-+]?\d)", "\N{NO-BREAK SPACE}", line)  # which `textwrap` takes for a part of a word
    lines = textwrap.wrap(
        joined,
        width,
        subsequent_indent=" " * indent,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")
