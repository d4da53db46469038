"""A bounded part of a corpus, for what needs to see enough text and not all of it."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from maskline.corpus.articles import Article


def sample_lines(articles: Iterable[Article], share: float) -> Iterator[str]:
    """Yield about `share` of the lines of `articles`; whole texts where `share` is 1 or more.

    Which lines is decided by a hash of the article's id, so they are the same ones each time, in any order of articles.
    """
    for article in articles:
        if share >= 1:
            yield article.text
        else:
            lines = article.text.split("\n")
            yield from (line for number, line in enumerate(lines) if _place(f"{article.id}/{number}") < share)


def _place(line: str) -> float:
    """Return a number in [0, 1] that depends on `line` alone."""
    digest = blake2b(line.encode(), digest_size=8, key=b"maskline", person=b"lines").digest()
    return int.from_bytes(digest, "big") / 2**64
