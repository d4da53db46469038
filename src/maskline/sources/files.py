"""Articles in files of the user's own: JSON lines, Parquet, or plain text with a blank line between two articles."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any

from maskline.core.errors import UserError
from maskline.corpus.articles import Article, Source
from maskline.records.files import Record, describe, field, find, open_text, read_jsonl, read_parquet, suffix
from maskline.sources import wikitext_dataset
from maskline.sources.dump.losses import sentence_losses, without_sentences
from maskline.sources.dump.wikitext import without_leftovers
from maskline.sources.settings import CorpusParams, Layout

LONGEST_ARTICLE = wikitext_dataset.LONGEST_ARTICLE


def read(params: CorpusParams) -> Source:
    """Return the articles in the files that `params.files.paths` matches, and those held out in `validation_paths`.

    A file that both match is only held out.

    Raises:
        UserError: a pattern matches nothing, no file is left to train on, or (while the articles are read) a file is
            not in the format that its name says, or has no text.
    """
    files = params.files
    paths = find(files.paths, READERS, "corpus.files.paths")
    held_out = find(files.validation_paths, READERS, "corpus.files.validation_paths") if files.validation_paths else []
    same = {path.resolve() for path in held_out}
    paths = [path for path in paths if path.resolve() not in same]
    if not paths:
        raise UserError(
            "corpus.files.validation_paths matches every file of corpus.files.paths: leave some to train on"
        )
    cleaning = Counter[str]()

    def articles(paths: list[Path]) -> Iterator[Article]:
        found = chain.from_iterable(_articles(path, params.layout) for path in paths)
        return _cleaned(found, params.language, cleaning) if files.markup == "clean" else found

    return Source(
        islice(articles(paths), files.max_articles),
        provenance={
            "source": "files",
            "language": params.language,
            "layout": params.layout,
            "inputs": describe(paths),
            "validation_inputs": describe(held_out),
            "max_articles": files.max_articles,
        },
        licence="that of the files given, which they do not state",
        report=lambda: _report(cleaning, params.language) if files.markup == "clean" else {},
        held_out=articles(held_out) if held_out else None,
    )


def articles_of(records: Iterable[Record], name: str, layout: Layout) -> Iterator[Article]:
    """Yield the articles in `records`.

    With the layout `articles` each record is an article; with `wikitext` each record is one or more lines of WikiText.
    `name` names the source of the records in errors.

    Raises:
        UserError: a record has no text, or WikiText has no title line.
    """
    if layout == "articles":
        yield from (article_of(record, name) for record in records)
    else:
        lines = (line for record in records for line in field(record, "text", name).removesuffix("\n").split("\n"))
        found = wikitext_dataset.articles_in(lines, name)
        first = list(islice(found, 2))
        if [titled.title for titled in first] == [""]:
            raise UserError(
                f"{name} has no line ` = Title = ` between two blank ones, where an article of WikiText begins: "
                "check it, or set corpus.layout to articles"
            )
        yield from (article_of(titled._asdict(), name) for titled in chain(first, found))


def _articles(path: Path, layout: Layout) -> Iterator[Article]:
    if suffix(path) == ".txt" and layout == "wikitext":
        with open_text(path) as lines:
            yield from articles_of(({"text": line} for line in lines), str(path), layout)
    else:
        yield from articles_of(READERS[suffix(path)](path), str(path), layout)


def _report(cleaning: Counter[str], language: str) -> dict[str, Any]:
    return {"cleaning": without_sentences(cleaning), "sentences": sentence_losses(cleaning, language)}


def _cleaned(articles: Iterator[Article], language: str, counts: Counter[str]) -> Iterator[Article]:
    """Yield `articles` without leftover wiki markup; count the changes in `counts`."""
    for article in articles:
        text, changed = without_leftovers(article.text, language)
        counts.update(changed)
        yield article._replace(text=text)


def article_of(record: Record, name: str) -> Article:
    """Return a record with a column `text` as an article; `id`, `title` and `url` may be missing.

    A missing id becomes a hash of the text, so that the article's split does not depend on its position.
    """
    text = field(record, "text", name)
    title, url, given = (field(record, column, name) if column in record else "" for column in ("title", "url", "id"))
    return Article(given.strip() or _id_of(text), title, url, text)


def _id_of(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _read_text(path: Path) -> Iterator[Record]:
    paragraphs: list[str] = []
    size = 0
    with open_text(path) as lines:
        for line in lines:
            size += len(line)
            if size > LONGEST_ARTICLE:
                raise UserError(
                    f"{path} has an article of more than {LONGEST_ARTICLE:,} characters: put a blank line between "
                    "articles"
                )
            if line.strip():
                paragraphs.append(line)
                continue
            if paragraphs:
                yield {"text": "".join(paragraphs)}
            paragraphs, size = [], 0
    if paragraphs:
        yield {"text": "".join(paragraphs)}


READERS: dict[str, Callable[[Path], Iterator[Record]]] = {
    ".jsonl": read_jsonl,
    ".parquet": read_parquet,
    ".txt": _read_text,
}
