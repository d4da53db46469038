"""Files of documents as an index to search: their vectors, words and snippets, then what is built over them."""

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from maskline.core.errors import UserError
from maskline.core.storage import source_fingerprint
from maskline.inference.analysis import analyzer
from maskline.inference.documents import Columns, Document, find_files, read_documents
from maskline.inference.embedding import Pooling
from maskline.inference.growing import Growing
from maskline.inference.index import TERM_COUNTS, TERMS, VECTORS, VOCABULARY, build, read_vocabulary
from maskline.inference.search import ENDS, SNIPPETS
from maskline.inference.vectors import OpenEncoder, Vectors, VectorSettings, append_rows, grow
from maskline.records.files import describe

SNIPPET = 200
"""Characters of a text that are shown of it."""


@dataclass(frozen=True)
class IndexSettings:
    """How documents are indexed."""

    pooling: Pooling = "mean"
    language: str = "en"
    """ISO 639: how BM25 finds words and their stems."""
    kinds: tuple[str, ...] = ()
    """Of `ivf` and `hnsw`, those beside the flat index."""


def write_index(
    paths: Sequence[Path],
    out: Path,
    model: OpenEncoder,
    settings: IndexSettings,
    columns: Columns = Columns(),  # noqa: B008  # it is frozen
    progress: Callable[[int], Callable[[int], None]] = lambda _: lambda _: None,
) -> dict[str, Any]:
    """Write the index of all documents in files to the directory `out`; return its manifest.

    A process that was killed goes on when it is called with the same again.

    Args:
        paths: files of documents, or directories of them.
        out: replaced when it exists.
        model: what makes the vectors; a search needs the same.
        settings: how documents are indexed.
        columns: where ids, titles and texts stand in records.
        progress: given how many documents there are, returns what is told how many have vectors.

    Raises:
        UserError: a file is not what it should be, or `out` may not be replaced.
    """
    files = find_files(paths)
    count = sum(1 for _ in read_documents(files, columns))
    about = {
        **asdict(settings),
        "kinds": list(settings.kinds),
        "texts": count,
        "dimensions": model.pooler.dimensions,
        **model.hashes,
        "columns": asdict(columns),
        "inputs": describe(files),
    }
    with Growing(out, {**about, "source": source_fingerprint()}) as growing:
        write = _Writer(growing, count, settings.language)
        vectors = VectorSettings(settings.pooling, normalized=True)
        grow(growing, read_documents(files, columns), whole, model, vectors, write, progress(count))
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
                apart.submit(build, growing.directory, settings.kinds).result()
        except BrokenProcessPool:
            raise UserError(
                "the process that builds the index was killed, for want of memory perhaps: close other programs, or "
                "leave out --hnsw and --ivf; the same command goes on"
            ) from None
        manifest = {**about, "cut": growing.counts["cut"]}
        growing.finish(manifest, without=(TERMS, TERM_COUNTS, VOCABULARY))
    return manifest


def whole(document: Document) -> str:
    """Return the text of a document below its title, unless the text begins with it."""
    title, text = document.title, document.text
    return f"{title}\n{text}" if title and not text.startswith(title) else text


class _Writer:
    """Appends chunks of documents with their vectors, (N, D)."""

    def __init__(self, growing: Growing, count: int, language: str) -> None:
        self._count = count
        self._words = analyzer(language)
        self._numbers = {word: number for number, word in enumerate(read_vocabulary(growing.directory), 1)}

    def __call__(self, growing: Growing, documents: list[Document], vectors: Vectors) -> None:
        append_rows(growing, VECTORS, vectors, self._count)
        known = len(self._numbers)
        terms = [
            [self._numbers.setdefault(word, len(self._numbers) + 1) for word in self._words(whole(document))]
            for document in documents
        ]
        new = list(self._numbers)[known:]
        growing.append(VOCABULARY, "".join(json.dumps(word, ensure_ascii=False) + "\n" for word in new).encode())
        growing.append(TERMS, np.array([number for text in terms for number in text], np.int32).tobytes())
        append_rows(growing, TERM_COUNTS, np.array(list(map(len, terms)), np.int64), self._count)
        lines = [json.dumps([one.id, one.title, snippet(one.text)], ensure_ascii=False) + "\n" for one in documents]
        sizes = [len(line.encode()) for line in lines]
        begins = growing.counts.get("bytes", 0)
        growing.append(SNIPPETS, "".join(lines).encode())
        append_rows(growing, ENDS, begins + np.cumsum(sizes), self._count)
        growing.counts["bytes"] = begins + sum(sizes)


def snippet(text: str) -> str:
    """Return the beginning of a text, in one line."""
    return " ".join(text[: 2 * SNIPPET].split())[:SNIPPET]
