"""Texts and labels as they are kept, and which labels are one, however a file spells a number or a truth value."""

import html
import re

from maskline.corpus.articles import clean_line

_WHOLE = re.compile(r"(-?[0-9]+)\.0+")
_SPELLINGS = {"-0": "0", "True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}


def clean_example(text: str) -> str:
    """Return a text or a label cleaned as articles are, on one line, with characters in place of HTML entities."""
    return clean_line(html.unescape(text))


def label_key(label: str) -> str:
    """Return what the spellings of one cleaned label share: `1` of 1.0, `true` of True and TRUE, else itself.

    A column of whole numbers in which one is missing becomes one of 1.0 and 2.0 in pandas, and pandas writes True where
    YAML and JSON have true.
    """
    whole = _WHOLE.fullmatch(label)
    key = whole[1] if whole else label
    return _SPELLINGS.get(key, key)
