"""Searching an index: by words, by vectors, and by both, fused. Nothing here may load torch."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json
from maskline.inference.analysis import analyzer
from maskline.inference.identity import hashes_of
from maskline.inference.index import BLOCK, BM25, INDEXES, VECTORS, check_installed

SNIPPETS, ENDS = "documents.jsonl", "documents.npy"
"""Id, title and snippet of each document, and where its line ends."""
METHODS = ("fused", "bm25", "flat", "ivf", "hnsw")
DEPTH = 100
"""Documents of each ranking that a fused one is made of, or as many as are asked for."""
RANK = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""
PROBES, CANDIDATES = 32, 128
"""Lists that IVF looks through, and candidates that HNSW keeps."""

Ranking = tuple[NDArray[np.int64], NDArray[np.floating[Any]]]
"""Rows of documents, best first, and their scores."""


class Hit(NamedTuple):
    """A document that was found."""

    id: str
    title: str
    snippet: str
    score: float
    """Of BM25, the cosine, or the sum of reciprocal ranks."""


class SearchIndex:
    """An index that `pipeline.index` wrote, open to be searched by one thread.

    Attributes:
        manifest: of its directory.
        count: how many documents it has.
        methods: what it can be searched by.
    """

    def __init__(self, directory: Path) -> None:
        """Open the index in `directory`.

        Raises:
            UserError: it is no whole index, or the extra `search` is not installed.
        """
        check_installed()
        import bm25s

        self.directory = directory
        self.manifest = _read_manifest(directory)
        self.count: int = self.manifest["texts"]
        self.methods = tuple(name for name in METHODS if name not in {"ivf", "hnsw"} or name in self.manifest["kinds"])
        try:
            self._nearest = Nearest(directory, np.load(directory / VECTORS, mmap_mode="r"))
            self._ends = np.load(directory / ENDS, mmap_mode="r")
            self._snippets = np.memmap(directory / SNIPPETS, mode="r")  # of this index, whatever is written there later
            self._bm25 = bm25s.BM25.load(directory / INDEXES / BM25, mmap=True)
        except (ValueError, LookupError, EOFError):
            raise _not_whole(directory) from None
        self._words = analyzer(self.manifest["language"])

    def check_model(self, directory: Path) -> None:
        """Check that the model in `directory` and its tokenizer are those of the index.

        Raises:
            UserError: they are others.
        """
        for name, digest in hashes_of(directory).items():
            if digest != self.manifest[name]:
                raise UserError(
                    f"{self.directory} was made with another {name} ({self.manifest[name][:12]}) than that of "
                    f"{directory} ({digest[:12]}): name the one that it was made with, or make the index anew"
                )

    def check(self, method: str, query: str) -> None:
        """Check that the index can be asked for `query` by `method`.

        Raises:
            UserError: the query is empty, or the index has not what `method` needs.
        """
        if not query.strip():
            raise UserError('the query is empty: give words, such as "bridges of iron"')
        if method not in self.methods:
            raise UserError(f"{self.directory} has no {method}: it has {', '.join(self.methods)}; index again with it")

    def ranking(self, method: str, query: str, vector: NDArray[np.float32] | None, k: int) -> Ranking:
        """Return the best documents for a query, at most `k`; without a word of the query, BM25 finds none.

        Args:
            method: one of `methods`.
            query: its text.
            vector: (D,) of length 1; BM25 needs none.
            k: 1 or more; an index of fewer documents gives fewer.

        Raises:
            UserError: the query is empty, or the index has not what `method` needs.
        """
        self.check(method, query)
        k = min(k, self.count)
        if method == "bm25":
            return self._by_words(query, k)
        assert vector is not None
        if method != "fused":
            return self._nearest.ranking(method, vector, k)
        depth = min(max(k, DEPTH), self.count)
        nearest = next(name for name in ("hnsw", "ivf", "flat") if name in self.methods)
        return fuse([self._by_words(query, depth)[0], self._nearest.ranking(nearest, vector, depth)[0]], k)

    def _by_words(self, query: str, k: int) -> Ranking:
        numbers = self._bm25.get_tokens_ids(self._words(query))
        if not numbers:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        return best(self._bm25.get_scores_from_ids(numbers), k, above=0)

    def hits(self, ranking: Ranking) -> list[Hit]:
        """Return the documents of a ranking."""
        found = []
        for row, score in zip(*ranking, strict=True):
            line = self._snippets[self._ends[row - 1] if row else 0 : self._ends[row]]
            id_, title, text = json.loads(line.tobytes())
            found.append(Hit(id_, title, text, float(score)))
        return found


class Nearest:
    """Vectors that are searched by cosine."""

    def __init__(self, directory: Path, vectors: NDArray[np.float32]) -> None:
        """Take `vectors`, (N, D) of length 1, and what is built over them in `directory`."""
        self._directory = directory
        self._vectors = vectors
        self._written = _written(directory)
        self._approximate: dict[str, Any] = {}

    def ranking(self, method: str, vector: NDArray[np.float32], k: int) -> Ranking:
        """Return at most `k` rows that are nearest to `vector`, (D,), and their cosines; `flat` finds all of them.

        Raises:
            UserError: the index was made anew since these vectors were opened.
        """
        import faiss

        query = np.ascontiguousarray(vector[None], np.float32)
        if method == "flat":
            scores, rows = [], []
            for start in range(0, len(self._vectors), BLOCK):
                block = self._vectors[start : start + BLOCK]
                found = faiss.knn(query, block, min(k, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
                scores.append(found[0][0])
                rows.append(found[1][0] + start)
            order, values = best(np.concatenate(scores), k)
            return np.concatenate(rows)[order], values
        if method not in self._approximate:
            if _written(self._directory) != self._written:
                raise UserError(f"{self._directory} was made anew meanwhile: open it again")
            self._approximate[method] = _open_approximate(self._directory / INDEXES / f"{method}.faiss")
        index = self._approximate[method]
        if method == "hnsw":
            index.hnsw.efSearch = max(CANDIDATES, k)
        else:
            index.nprobe = PROBES
        values, ids = index.search(query, k)
        there = ids[0] >= 0  # fewer than k were near
        return ids[0][there], values[0][there]


def _written(directory: Path) -> tuple[int, int] | None:
    """Return what changes when an index is written anew; None where vectors alone lie there."""
    try:
        facts = (directory / MANIFEST).stat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns


def _open_approximate(path: Path) -> Any:
    import faiss

    return faiss.read_index(str(path), faiss.IO_FLAG_MMAP if path.stem == "ivf" else 0)


def _read_manifest(directory: Path) -> dict[str, Any]:
    """Return the manifest of an index whose files have the sizes that it promises; their hashes would take seconds."""
    if not (directory / MANIFEST).is_file():
        raise UserError(f"{directory} is no index ({MANIFEST} is missing): make it with `python -m pipeline.index`")
    try:
        manifest = read_json(directory / MANIFEST)
        whole = all((directory / name).stat().st_size == one["bytes"] for name, one in manifest["files"].items())
        whole = whole and all(name in manifest for name in ("kinds", "language", "pooling", "texts"))
    except (UserError, OSError, LookupError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise _not_whole(directory)
    return dict(manifest)


def _not_whole(directory: Path) -> UserError:
    return UserError(f"{directory} is no whole index: make it anew with `python -m pipeline.index`")


def best(scores: NDArray[Any], k: int, *, above: float | None = None) -> Ranking:
    """Return the rows of the `k` highest scores, (N,), those `above` a value alone; of equal ones the first rows."""
    if above is not None:
        rows = np.flatnonzero(scores > above)
        found, values = best(scores[rows], min(k, len(rows)))
        return rows[found], values
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        rows = np.flatnonzero(scores >= least)
    else:
        rows = np.arange(len(scores))
    rows = rows[np.argsort(-scores[rows], kind="stable")][:k]
    return rows, scores[rows]


def fuse(rankings: list[NDArray[np.int64]], k: int) -> Ranking:
    """Return the `k` best of rankings by the sum of 1 / (60 + rank) over them (Cormack et al. 2009); rank 1 is best."""
    scores: dict[int, float] = {}
    for rows in rankings:
        for rank, row in enumerate(rows.tolist(), 1):
            scores[row] = scores.get(row, 0.0) + 1 / (RANK + rank)
    order = sorted(scores, key=lambda row: (-scores[row], row))[:k]
    return np.array(order, np.int64), np.array([scores[row] for row in order])
