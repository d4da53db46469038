"""Characters that mark, in the text of a page, where something was left out. They are of the private use area."""

HOLE = "\ue000"
"""A word that the sentence lacks."""
UNCLOSED = "\ue001"
"""The beginning of markup that is never closed; the rest of its line is left out."""
GLOSS = "\ue002"
"""Something that a sentence does not need, such as a pronunciation; its text, if there is one, goes on to `GLOSSED`."""
GLOSSED = "\ue004"
"""The end of the text of a `GLOSS`."""
UNKNOWN = "\ue003"
"""A template that may show a word of the sentence, or a note, or nothing."""
BLOCK = f"\n\n*{HOLE}\n\n"
"""Stands for a table or a piece of code: an item without text, which a sentence may announce."""
_POINTS = ".!?…"
GAPS = HOLE + GLOSS + UNKNOWN


def between(before: str, after: str) -> str:
    """Return what stands in place of something that shows no text: a space where it parted two sentences, else ""."""
    return " " if before and before[-1] in _POINTS and after[:1].isupper() else ""


def unmarked(text: str) -> str:
    """Return `text` without these characters and without carriage returns."""
    for mark in ("\r", HOLE, UNCLOSED, GLOSS, GLOSSED, UNKNOWN):
        text = text.replace(mark, "")
    return text
