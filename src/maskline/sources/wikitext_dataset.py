"""WikiText: articles in lines that are cut into words, as Merity et al. (2016) laid them out.

A title stands between two blank lines as ` = Title = `, a heading as ` = = Heading = = ` with one sign more for each
level; every other line is a paragraph. A line of a formula may look like a title (` = 1 <unk> and <unk> C = `), but has
no blank lines around it.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import NamedTuple

_HEADING = re.compile(r"(=(?: =)*) (?!=)(.+)(?<!=) \1")


class Titled(NamedTuple):
    """An article by its title, "" for what stands before the first one."""

    title: str
    text: str
    """Paragraphs separated by a newline; "" where there are only headings."""


def articles_in(lines: Iterable[str]) -> Iterator[Titled]:
    """Yield the articles that `lines` hold one after the other.

    Headings below the title are left out, as they are of a dump. The words stay as they are spelled, `@-@`, `@,@`,
    `@.@` and `<unk>` included: a tokenizer of words takes the first three for words and the last for [UNK].
    """
    title: str | None = None
    paragraphs: list[str] = []
    after_blank = True
    for line, following in pairwise(chain(map(str.strip, lines), [""])):
        heading = _HEADING.fullmatch(line) if after_blank and not following else None
        if heading and heading[1] == "=":
            if title is not None or paragraphs:
                yield Titled(title or "", "\n".join(paragraphs))
            title, paragraphs = heading[2], []
        elif line and not heading:
            paragraphs.append(line)
        after_blank = not line
    if title is not None or paragraphs:
        yield Titled(title or "", "\n".join(paragraphs))
