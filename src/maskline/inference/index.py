"""The indexes over vectors and words: flat, IVF and HNSW of faiss, BM25 of bm25s. Nothing here may load torch.

The flat one is the file of vectors itself, searched block by block where it lies. IVF and HNSW grow by blocks and are
written after each, so that a build that was killed goes on; both hold all vectors in memory while they are built.
"""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.core.errors import UserError
from maskline.core.storage import atomic

VECTORS = "vectors.npy"
INDEXES = "indexes"
"""The folder of what is built from the vectors and the words."""
BM25 = "bm25"
TERMS, TERM_COUNTS, VOCABULARY = "terms.int32", "term-counts.npy", "vocabulary.jsonl"
"""The words of all texts as numbers, one after the other; how many each text has; the words by number."""
BLOCK = 1 << 17
"""Vectors that are added, or searched, at a time."""
LINKS = 16
CONSTRUCTION = 100
"""Links of a vector in HNSW, and candidates for them (Malkov and Yashunin 2018: M and efConstruction)."""
LIST_SAMPLE = 64
"""Vectors per list that the lists of IVF are learned from."""
SEED = 1234


def check_installed() -> None:
    """Check that the extra `search` is installed.

    Raises:
        UserError: it is not.
    """
    missing = [name for name in ("bm25s", "faiss", "Stemmer") if find_spec(name) is None]
    if missing:
        raise UserError(f"{', '.join(missing)} is not installed: pip install -c constraints.txt -e '.[search]'")


def build(directory: Path, kinds: tuple[str, ...]) -> None:
    """Build what is missing of BM25 and of `kinds`, `ivf` or `hnsw`, from the files in `directory`.

    It is run in a process without torch: each of the two brings an OpenMP of its own.
    """
    (directory / INDEXES).mkdir(exist_ok=True)
    build_bm25(directory)
    vectors = np.load(directory / VECTORS, mmap_mode="r")
    for kind in kinds:
        build_approximate(directory / INDEXES / f"{kind}.faiss", kind, vectors)


def build_approximate(path: Path, kind: str, vectors: NDArray[np.float32]) -> None:
    """Write the index of `kind` over `vectors`, (N, D) of length 1, to `path`, or go on with the one there."""
    import faiss

    index: Any = faiss.read_index(str(path)) if path.exists() else _new(kind, vectors)
    for start in range(index.ntotal, len(vectors), BLOCK):
        if kind == "hnsw":  # so that a graph that was read again goes on as one that was not
            index.hnsw.rng = faiss.RandomGenerator(SEED + start)  # type: ignore[attr-defined]
        index.add(np.ascontiguousarray(vectors[start : start + BLOCK]))
        with atomic(path) as temporary:
            faiss.write_index(index, str(temporary))


def _new(kind: str, vectors: NDArray[np.float32]) -> Any:
    """Return an empty index of `kind`, of which IVF has learned its lists from a sample of `vectors`."""
    import faiss

    count, dimensions = vectors.shape
    index: Any
    if kind == "hnsw":
        index = faiss.IndexHNSWFlat(dimensions, LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = CONSTRUCTION
        return index
    lists = max(1, min(int(4 * count**0.5), count // LIST_SAMPLE))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimensions), dimensions, lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.seed = SEED
    index.cp.min_points_per_centroid = 1
    rows = np.linspace(0, count - 1, min(count, LIST_SAMPLE * lists)).astype(np.int64)
    index.train(np.ascontiguousarray(vectors[rows]))
    return index


class _Ids:
    """The words of each text as numbers, read from the disk where they are asked for."""

    def __init__(self, directory: Path) -> None:
        self._terms = np.memmap(directory / TERMS, np.int32, "r") if (directory / TERMS).stat().st_size else np.empty(0)
        self._ends = np.cumsum(np.load(directory / TERM_COUNTS))

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[list[int]]:
        start = 0
        for end in self._ends.tolist():
            yield self._terms[start:end].tolist()
            start = end


class _Corpus:
    """What bm25s takes: `ids`, and `vocab`, which has a word at 0 that no text has."""

    def __init__(self, directory: Path) -> None:
        self.ids = _Ids(directory)
        self.vocab = {"": 0} | {word: number for number, word in enumerate(read_vocabulary(directory), 1)}


def read_vocabulary(directory: Path) -> list[str]:
    """Return the words that texts have, by number, from 1."""
    path = directory / VOCABULARY
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def build_bm25(directory: Path) -> None:
    """Write the BM25 index (Lucene's, k1 1.5, b 0.75) over the words in `directory`, unless it is there."""
    import bm25s

    path = directory / INDEXES / BM25
    if path.exists():
        return
    index = bm25s.BM25()
    with np.errstate(invalid="ignore"):  # where no text has a word, their mean length is 0
        index.index(_Corpus(directory), create_empty_token=False, show_progress=False)
    unfinished = path.with_name(f"{BM25}.unfinished")
    index.save(unfinished, show_progress=False)
    unfinished.rename(path)
