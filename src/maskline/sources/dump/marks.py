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
GAPS = HOLE + GLOSS + UNKNOWN


def unmarked(text: str) -> str:
    """Return `text` without these characters and without carriage returns."""
    for mark in ("\r", HOLE, UNCLOSED, GLOSS, GLOSSED, UNKNOWN):
        text = text.replace(mark, "")
    return text
