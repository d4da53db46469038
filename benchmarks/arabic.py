"""Sixty megabytes of Arabic articles, and a vocabulary of their own: what the stage `tokenize` is measured on."""

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
"""Where the articles are looked for: JSON lines of id, title, url and text, in files *.jsonl.gz."""
BUILT = Path(".benchmarks/arabic")
ABSENT = f"not measured: {RAW} is not there"
VOCAB_SIZE = 64_000
SMALL_BYTES, LARGE_BYTES = 10_000_000, 200_000_000
_SOURCES = Path("src/maskline")


@dataclass(frozen=True)
class Arabic:
    """Directories that the stages write, made of the articles."""

    params: Path
    """The parameters that all was made with."""
    tokenizer: Path
    corpus: Path
    """All articles, 60 MB of text."""
    small: Path
    """The first 10 MB of text."""
    large: Path
    """200 MB: all articles more than once, under new ids and each ending in a number."""


def there() -> bool:
    """Return whether the articles are where they are looked for."""
    return any(RAW.glob("*.jsonl.gz"))


def arabic() -> Arabic:
    """Return the articles as the stages write them; made once for each state of articles, parameters and code."""
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
        (built.small, until(SMALL_BYTES, raw())),
        (built.large, until(LARGE_BYTES, again_and_again())),
    ):
        write_corpus(directory, Source(articles, {"source": "arwiki"}, "CC BY-SA 4.0"), 1, 0.1)
    paths = {"params": built.params, "corpus": built.corpus, "tokenizer": built.tokenizer, "report": BUILT / "report"}
    options = [f"--{name}={path}" for name, path in paths.items()]
    subprocess.run([sys.executable, "-m", "pipeline.tokenizer", *options], check=True)  # noqa: S603
    write_json(mark, identity)
    return built


def raw() -> Iterator[Article]:
    """Yield the articles as they are."""
    for path in sorted(RAW.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                yield Article(str(row["id"]), row["title"], row["url"], row["text"])


def again_and_again() -> Iterator[Article]:
    """Yield the articles without end, each time under new ids and with a last line that makes the text a new one."""
    for number in count():
        for article in raw():
            yield article._replace(id=f"{article.id}-{number}", text=f"{article.text}\n{number}")


def until(size: int, articles: Iterator[Article]) -> Iterator[Article]:
    """Yield the first articles that together hold `size` bytes of text."""
    read = 0
    for article in articles:
        if read >= size:
            return
        read += len(article.text.encode())
        yield article
