"""A random sample of the lines of a corpus, to learn a vocabulary from."""

from collections.abc import Iterable, Iterator

from maskline.corpus.articles import Article
from maskline.corpus.split import hash_fraction


def sample_lines(articles: Iterable[Article], share: float) -> Iterator[str]:
    """Yield about a share `share` of the lines of `articles`; if it is 1 or more, their whole texts.

    A hash of the article's id and the line's number selects the lines, so the order of the articles does not matter.
    """
    for article in articles:
        if share >= 1:
            yield article.text
        else:
            for number, line in enumerate(article.text.split("\n")):
                if hash_fraction(f"{article.id}/{number}", b"lines") < share:
                    yield line
