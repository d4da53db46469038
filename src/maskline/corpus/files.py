"""Articles of the user's own: JSON lines or Parquet with a column `text`, or text with blank lines between them."""

from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from maskline.corpus.articles import Article, Source
from maskline.corpus.dump.wikitext import without_leftovers
from maskline.corpus.records import Record, describe, field, find, open_text, read_jsonl, read_parquet, suffix
from maskline.params import CorpusParams


def read(params: CorpusParams) -> Source:
    """Return the articles in the files that `params.files.paths` matches.

    Raises:
        UserError: nothing matches, or (while the articles are read) a file is not what its name says or has no text.
    """
    paths = find(params.files.paths, READERS, "corpus.files.paths")
    articles: Iterator[Article] = chain.from_iterable(READERS[suffix(path)](path) for path in paths)
    cleaning = Counter[str]()
    if params.files.markup == "clean":
        articles = _cleaned(articles, params.language, cleaning)
    return Source(
        articles,
        provenance={"source": "files", "language": params.language, "inputs": describe(paths)},
        licence="that of the files given, which they do not state",
        report=lambda: {"cleaning": dict(cleaning)} if params.files.markup == "clean" else {},
    )


def _cleaned(articles: Iterator[Article], language: str, counts: Counter[str]) -> Iterator[Article]:
    """Yield `articles` without left-over wiki markup, counting what that changes."""
    for article in articles:
        text, changed = without_leftovers(article.text, language)
        counts.update(changed)
        yield article._replace(text=text)


def article_of(record: Record, name: str) -> Article:
    """Return a record with a column `text` as an article; `id`, `title` and `url` may be missing.

    An article without an id gets one from its text, so that it keeps its split wherever it stands.
    """
    text = field(record, "text", name)
    title, url, given = (field(record, column, name) if column in record else "" for column in ("title", "url", "id"))
    return Article(given.strip() or _id_of(text), title, url, text)


def _id_of(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _read_jsonl(path: Path) -> Iterator[Article]:
    return (article_of(record, str(path)) for record in read_jsonl(path))


def _read_parquet(path: Path) -> Iterator[Article]:
    return (article_of(record, str(path)) for record in read_parquet(path))


def _read_text(path: Path) -> Iterator[Article]:
    lines: list[str] = []
    with open_text(path) as file:
        for line in file:
            if line.strip():
                lines.append(line)
            elif lines:
                yield article_of({"text": "".join(lines)}, str(path))
                lines = []
    if lines:
        yield article_of({"text": "".join(lines)}, str(path))


READERS: dict[str, Callable[[Path], Iterator[Article]]] = {
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
    ".txt": _read_text,
}
