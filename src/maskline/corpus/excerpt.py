"""A bounded part of a corpus, for what needs to see enough text and not all of it."""

from collections.abc import Iterable, Iterator

from maskline.corpus.articles import Article
from maskline.corpus.split import uniform


def sample_lines(articles: Iterable[Article], share: float) -> Iterator[str]:
    """Yield about `share` of the lines of `articles`; whole texts where `share` is 1 or more.

    Which lines is decided by a hash of the article's id, so they are the same ones each time, in any order of articles.
    """
    for article in articles:
        if share >= 1:
            yield article.text
        else:
            for number, line in enumerate(article.text.split("\n")):
                if uniform(f"{article.id}/{number}", b"lines") < share:
                    yield line
