"""The layout of WikiText (Merity et al. 2016): articles as lines of words separated by spaces.

A title is a line ` = Title = ` between two blank lines. A heading is a line ` = = Heading = = `, with one more `=` on
each side for each level. Every other line is a paragraph. A line of a formula may look like a title
(` = 1 <unk> and <unk> C = `), but has no blank lines around it.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from maskline.core.errors import UserError

LONGEST_ARTICLE = 1 << 24
"""Characters."""

_HEADING = re.compile(r"(=(?: =)*) (?!=)(.+)(?<!=) \1")


class Titled(NamedTuple):
    """An article with its title; the title is "" for text before the first title."""

    title: str
    text: str
    """Paragraphs separated by a newline; "" where there are only headings."""


def articles_in(lines: Iterable[str], name: str = "the text") -> Iterator[Titled]:
    """Yield the articles in `lines`, in their order.

    Headings below the title are left out, as in articles of a dump. The words stay as they are, also `@-@`, `@,@`,
    `@.@` and `<unk>`: for a tokenizer of whole words the first three are words and the last is [UNK].

    Raises:
        UserError: an article is longer than LONGEST_ARTICLE; `name` names where it is from.
    """
    title: str | None = None
    paragraphs: list[str] = []
    size = 0
    after_blank = True
    for line, following in pairwise(chain(map(str.strip, lines), [""])):
        heading = _HEADING.fullmatch(line) if after_blank and not following else None
        if heading and heading[1] == "=":
            if title is not None or paragraphs:
                yield Titled(title or "", "\n".join(paragraphs))
            title, paragraphs, size = heading[2], [], 0
        elif line and not heading:
            paragraphs.append(line)
            size += len(line)
        if size > LONGEST_ARTICLE:
            raise UserError(
                f"{name} has an article of more than {LONGEST_ARTICLE:,} characters: check its lines ` = Title = `"
            )
        after_blank = not line
    if title is not None or paragraphs:
        yield Titled(title or "", "\n".join(paragraphs))
