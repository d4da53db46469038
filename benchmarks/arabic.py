"""Data for the benchmark of the stage `tokenize`: 60 MB of Arabic articles, and a vocabulary learned from them."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ruamel.yaml import YAML

from maskline.core.storage import fingerprint, read_json, sha256, write_json
from maskline.corpus.articles import Article, Source
from maskline.selection.corpus import write_corpus
from maskline.settings.files import read_yaml
from maskline.settings.params import PARAMS

RAW = Path("../shared/data/arwiki")
"""Folder of the articles: files *.jsonl.gz of JSON lines with id, title, url and text."""
BUILT = Path(".benchmarks/arabic")
ABSENT = f"not measured: {RAW} is not there"
VOCAB_SIZE = 64_000
SMALL_BYTES, LARGE_BYTES = 10_000_000, 200_000_000
_SOURCES = Path("src/maskline")


@dataclass(frozen=True)
class Arabic:
    """The file of parameters and the directories that the stages made of the articles."""

    params: Path
    tokenizer: Path
    corpus: Path
    """All articles, 60 MB of text."""
    small: Path
    """The first 10 MB of text."""
    large: Path
    """200 MB: all articles several times, each time under new ids and with a number at the end."""


def are_there() -> bool:
    """Return whether the folder has articles."""
    return any(RAW.glob("*.jsonl.gz"))


def arabic() -> Arabic:
    """Return the data; it is built again only if articles, parameters or code have changed."""
    built = Arabic(*(BUILT / name for name in ("params.yaml", "tokenizer", "corpus", "small", "large")))
    settings = read_yaml(PARAMS)
    settings["corpus"] |= {"language": "ar", "source": "files"}
    settings["tokenizer"]["vocab_size"] = VOCAB_SIZE
    sources = [Path(__file__), _SOURCES / "corpus" / "articles.py", *sorted((_SOURCES / "tokenization").glob("*.py"))]
    files = [*sorted(RAW.glob("*.jsonl.gz")), *sources]
    identity, mark = fingerprint([settings, [sha256(file) for file in files]]), BUILT / "identity.json"
    if mark.is_file() and read_json(mark) == identity:
        return built
    BUILT.mkdir(parents=True, exist_ok=True)
    YAML().dump(settings, built.params)
    for directory, articles in (
        (built.corpus, raw()),
        (built.small, first_bytes(SMALL_BYTES, raw())),
        (built.large, first_bytes(LARGE_BYTES, repeated_articles())),
    ):
        write_corpus(directory, Source(articles, {"source": "arwiki"}, "CC BY-SA 4.0"), 1, 0.1)
    paths = {"params": built.params, "corpus": built.corpus, "tokenizer": built.tokenizer, "report": BUILT / "report"}
    options = [f"--{name}={path}" for name, path in paths.items()]
    subprocess.run([sys.executable, "-m", "pipeline.tokenizer", *options], check=True)  # noqa: S603
    write_json(mark, identity)
    return built


def raw() -> Iterator[Article]:
    """Yield the articles in the folder."""
    for path in sorted(RAW.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                yield Article(str(row["id"]), row["title"], row["url"], row["text"])


def repeated_articles() -> Iterator[Article]:
    """Yield the articles without end, each time under new ids and with a number as last line: none is a copy."""
    for number in count():
        for article in raw():
            yield article._replace(id=f"{article.id}-{number}", text=f"{article.text}\n{number}")


def first_bytes(size: int, articles: Iterator[Article]) -> Iterator[Article]:
    """Yield the first articles that have `size` bytes of text together."""
    read = 0
    for article in articles:
        if read >= size:
            return
        read += len(article.text.encode())
        yield article
