"""What a teacher says of the sentences of a corpus: computed once, kept, and read as the run needs it."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, fresh_directory, read_manifest, sha256, write_manifest, write_text
from maskline.corpus.articles import read_articles
from maskline.corpus.split import Split
from maskline.inference.documents import Columns, find_files, read_documents
from maskline.inference.vectors import OpenEncoder, VectorSettings, write_vectors
from maskline.records.files import describe
from maskline.sentences.splitter import split_sentences

SPLITS: tuple[Split, ...] = ("train", "validation")
VECTORS = "vectors.npy"
SETTINGS = VectorSettings("mean", normalized=True, dtype="float16")
"""The mean of all tokens, of length 1: a product of two vectors is the cosine."""
FEWEST = 3
"""Sentences of a split: their neighbours make pairs, whose cosines are held against the teacher's."""
CHUNK = 8_192
"""Vectors that are in memory at a time."""


def write_sentences(corpus: Path, files: Sequence[Path], language: str, out: Path) -> dict[str, Any]:
    """Write the sentences of a corpus to a new directory, a file for each split; return its manifest.

    To those of the train split come the texts of `files`, each as it is: what is there twice is written once. What the
    directory has of the same inputs stays.

    Raises:
        UserError: `corpus` is incomplete, a file is not what it should be, or a split has too few sentences.
    """
    read_manifest(corpus, "fetch")
    files = find_files(files)
    about = {"corpus": sha256(corpus / MANIFEST), "texts": describe(files), "language": language}
    if (found := _manifest(out)) and about.items() <= found.items():
        return found
    fresh_directory(out)
    counts = {}
    for split in SPLITS:
        seen: dict[str, None] = {}
        for text in chain(_sentences(corpus, split, language), _texts(files) if split == "train" else ()):
            seen.setdefault(text)
        if len(seen) < FEWEST:
            raise UserError(
                f"the {split} split of {corpus} has {len(seen)} sentences, fewer than {FEWEST}: add articles"
            )
        lines = (json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in seen)
        write_text(out / f"{split}.jsonl", "".join(lines))
        counts[split] = len(seen)
    manifest = about | {"sentences": counts}
    write_manifest(out, manifest)
    return manifest


def _sentences(corpus: Path, split: Split, language: str) -> Iterator[str]:
    for article in read_articles(corpus, split):
        yield from split_sentences(article.text, language)


def _texts(files: Sequence[Path]) -> Iterator[str]:
    return (document.text for document in read_documents(files, Columns()) if document.text.strip())


def read_sentences(directory: Path, split: Split) -> list[str]:
    """Return the sentences of a split that `write_sentences` wrote."""
    with (directory / f"{split}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def teacher_vectors(
    teacher: OpenEncoder, sentences: Path, out: Path, progress: Callable[[int], Callable[[int], None]]
) -> NDArray[np.float16]:
    """Return the vectors of the sentences in a file, (N, D), mapped from a directory; only what is new is computed.

    A killed run goes on where it was.

    Args:
        teacher: what makes them.
        sentences: a file that `write_sentences` wrote.
        out: where they are kept.
        progress: given how many there are, returns what is told how many are done.
    """
    about = {**asdict(SETTINGS), **teacher.hashes, "inputs": describe([sentences])}
    found = _manifest(out)
    if found is None or not about.items() <= found.items():
        write_vectors([sentences], out, teacher, SETTINGS, "npy", progress=progress)
    vectors: NDArray[np.float16] = np.load(out / VECTORS, mmap_mode="r")
    return vectors


def _manifest(directory: Path) -> dict[str, Any] | None:
    """Return the manifest of a directory that is whole, None where it is not: what it held is computed anew."""
    try:
        return read_manifest(directory, "distill")
    except UserError:
        return None


def reduction(vectors: NDArray[np.float16], size: int) -> NDArray[np.float32]:
    """Return the matrix, (E, D), that turns vectors of E numbers into `size` ones, D, and changes their products least.

    Its columns are the directions in which the vectors, (N, E), are longest: principal components about 0, not about
    the mean (Eckart & Young 1936). Where D is more than E, nothing is lost, and the other columns are 0.
    """
    products = np.zeros((vectors.shape[1], vectors.shape[1]))
    for start in range(0, len(vectors), CHUNK):
        part = vectors[start : start + CHUNK].astype(np.float64)
        products += part.T @ part
    _, directions = np.linalg.eigh(products)  # by rising length
    kept = directions[:, ::-1][:, :size]
    return np.pad(kept, ((0, 0), (0, size - kept.shape[1]))).astype(np.float32)
