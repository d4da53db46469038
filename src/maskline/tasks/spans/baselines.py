"""What a model that finds answers is read against."""

# ruff: noqa: RUF001  # marks of other scripts

import re

_SENTENCE_END = re.compile(r"[.!?؟۔…]+[\"'»”’)\]]*(?=\s)|[。！？।॥]|[\r\n]")


def first_sentence(context: str) -> str:
    """Return a text up to the first mark that ends a sentence, followed by white space where a script has spaces.

    A line break ends it too. An abbreviation with a full stop does as well: to know them is not a rule's business.
    """
    text = context.strip()
    end = _SENTENCE_END.search(text)
    return text[: end.end()].strip() if end else text
