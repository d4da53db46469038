"""Copies among articles: equal texts, equal ids, and near duplicates, in any script.

The shingles of a text are all runs of eight characters in it, after every number is replaced by 0; so pages that a
program made from the rows of a table are similar. Two texts are near duplicates if the Jaccard similarity of their sets
of shingles reaches a threshold. MinHash (Broder 1997) proposes pairs, and the sets decide. An article is dropped only
if an article that stays is its copy.

Of several copies the longest stays; of equally long ones, that with the smallest hash. So the result does not depend on
the order of the articles. Preferred articles, which are held out, stay before all others.
"""

import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import blake2b
from heapq import nsmallest
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

BANDS, ROWS = 21, 6
"""Texts of similarity s are compared with probability 1 - (1 - s^ROWS)^BANDS: 0.998 at 0.8, 0.28 at 0.5, 2e-5 at 0.1.
"""
LISTED = 50
"""Near duplicates that are listed: those least similar to the article that stays."""
KEPT, DUPLICATE_TEXT, DUPLICATE_ID, NEAR_DUPLICATE = range(4)
REASONS = {DUPLICATE_TEXT: "duplicate_text", DUPLICATE_ID: "duplicate_id", NEAR_DUPLICATE: "near_duplicate"}

_BINS = 128
_EMPTY = np.uint32(2**32 - 1)
_ROW_FACTORS = (np.arange(ROWS, dtype=np.uint32) * np.uint32(0x9E3779B2) + np.uint32(1))[:, None]
_NUMBER = re.compile(r"\d+")

Hashes = NDArray[np.uint32]


def shingles(text: str) -> Hashes:
    """Return a hash of every run of eight characters in `text`; a shorter text is padded with spaces."""
    hashes = np.frombuffer(_NUMBER.sub("0", text).ljust(8).encode("utf-32-le"), np.uint32)
    for width, factor in ((1, 0x9E3779B1), (2, 0x85EBCA77), (4, 0xC2B2AE3D)):
        hashes = hashes[:-width] * np.uint32(factor) + hashes[width:]
    return _mixed(hashes)


def bands(hashes: Hashes) -> Hashes:
    """Return BANDS hashes of a set of shingles. The more similar two sets are, the more likely they share one.

    The range of hashes is cut into bins. The signature is the smallest hash of each bin; an empty bin takes that of the
    next full one (one permutation hashing with rotation, Shrivastava & Li 2014). Two sets agree in a place of the
    signature with a probability equal to their similarity. The rows of a band are from distant bins, so that one
    shingle of a short text does not fill several of them.
    """
    bins = np.full(_BINS, _EMPTY)
    np.minimum.at(bins, hashes >> np.uint32(25), hashes)
    full = np.flatnonzero(bins != _EMPTY)
    signature = bins[full[np.searchsorted(full, np.arange(BANDS * ROWS)) % len(full)]]
    return _mixed((signature.reshape(ROWS, BANDS) * _ROW_FACTORS).sum(axis=0, dtype=np.uint32))


def similarity(left: Hashes, right: Hashes) -> float:
    """Return the Jaccard similarity of two sets, given as sorted arrays."""
    if len(left) > len(right):
        left, right = right, left
    places = np.minimum(np.searchsorted(right, left), len(right) - 1)
    common = int(np.count_nonzero(right[places] == left))
    return common / (len(left) + len(right) - common)


class NearDuplicate(NamedTuple):
    """A dropped article and the article that stays, as places in the stream."""

    similarity: float
    dropped: int
    kept: int


class Copies(NamedTuple):
    """Which articles of a stream are copies."""

    verdicts: NDArray[np.uint8]
    """KEPT, DUPLICATE_TEXT, DUPLICATE_ID or NEAR_DUPLICATE for each article."""
    near_duplicates: list[NearDuplicate]
    """The `LISTED` least similar ones, the least similar first."""


class Sketches:
    """Sketches of the articles of a stream: 105 bytes for each, whatever its length."""

    def __init__(self) -> None:
        self._lengths = array("I")
        self._texts = array("Q")
        self._ids = array("Q")
        self._bands = array("I")
        self._preferred = bytearray()

    def add(self, article_id: str, text: str, *, preferred: bool = False) -> None:
        """Add the next article of the stream."""
        self._preferred.append(preferred)
        self._lengths.append(len(text))
        self._texts.append(digest(text))
        self._ids.append(digest(article_id))
        self._bands.frombytes(bands(shingles(text)).tobytes())

    def find_copies(
        self, texts: Callable[[], Iterable[str]], threshold: float | None, folder: Path | None = None
    ) -> Copies:
        """Return which articles are copies.

        Args:
            texts: returns the texts of the stream again, in its order.
            threshold: similarity from which on texts are near duplicates; None: there are no near duplicates.
            folder: for a temporary file of shingles; None: the system's temporary folder.
        """
        lengths, digests, ids = (np.asarray(values) for values in (self._lengths, self._texts, self._ids))
        others = np.frombuffer(self._preferred, np.uint8) == 0
        ranked = np.lexsort((ids, digests, -lengths.astype(np.int64), others))
        verdicts = np.full(len(lengths), KEPT, np.uint8)
        for keys, verdict in ((digests, DUPLICATE_TEXT), (ids, DUPLICATE_ID)):
            first = np.sort(np.unique(keys[ranked], return_index=True)[1])
            verdicts[np.delete(ranked, first)] = verdict
            ranked = ranked[first]
        near_duplicates: list[NearDuplicate] = []
        if threshold is not None:
            matrix = np.asarray(self._bands).reshape(-1, BANDS)
            suspects = ranked[_share_a_band(matrix, ranked)]
            with TemporaryFile(dir=folder) as file:
                sets = _ShingleSets(file, suspects, texts())
                found = _near_duplicates(suspects, _groups(matrix, suspects), sets, threshold)
            verdicts[[pair.dropped for pair in found]] = NEAR_DUPLICATE
            near_duplicates = nsmallest(LISTED, found)
        return Copies(verdicts, near_duplicates)


def _share_a_band(matrix: Hashes, articles: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return for each of `articles` whether another one shares a band with it."""
    shared = np.zeros(len(articles), np.bool_)
    for band in matrix.T:
        order = np.argsort(band[articles], kind="stable")
        equal = np.diff(band[articles[order]]) == 0
        shared[order[1:][equal]] = True
        shared[order[:-1][equal]] = True
    return shared


def _groups(matrix: Hashes, suspects: NDArray[np.intp]) -> NDArray[np.int32]:
    """Return the number of each band of each suspect, (len(suspects), BANDS): equal bands have equal numbers."""
    groups = np.empty((len(suspects), BANDS), np.int32)
    count = 0
    for column, band in enumerate(matrix.T):
        values, groups[:, column] = np.unique(band[suspects], return_inverse=True)
        groups[:, column] += count
        count += len(values)
    return groups


def _near_duplicates(
    suspects: NDArray[np.intp], groups: NDArray[np.int32], sets: "_ShingleSets", threshold: float
) -> list[NearDuplicate]:
    """Return the near duplicates among `suspects`, which come in the order of preference.

    A suspect is compared only with the first kept suspect of each of its bands: with BANDS others at most. So the time
    is linear in the number of suspects, however many share a band.
    """
    best = np.full(groups.max(initial=-1) + 1, -1, np.int32)
    dropped = []
    for number, own in enumerate(groups):
        candidates = Counter(best[own].tolist())
        del candidates[-1]
        for other, _ in candidates.most_common():
            if (like := sets.similarity(number, other, threshold)) >= threshold:
                dropped.append(NearDuplicate(like, int(suspects[number]), int(suspects[other])))
                break
        else:
            best[own[best[own] < 0]] = number
    return dropped


class _ShingleSets:
    """The sets of shingles of some articles, sorted, on disk."""

    def __init__(self, file: IO[bytes], articles: NDArray[np.intp], texts: Iterable[str]) -> None:
        """Write the sets of `articles`, given as places in the stream of `texts`, to `file`."""
        self._descriptor = file.fileno()
        self._sizes = np.zeros(len(articles), np.int64)
        self._starts = np.zeros(len(articles), np.int64)
        numbers = {article: number for number, article in enumerate(articles.tolist())}
        end = 0
        for place, text in enumerate(texts):
            if (number := numbers.get(place)) is not None:
                values = np.sort(shingles(text))
                values = values[np.append(True, values[1:] != values[:-1])]
                file.write(values.tobytes())
                self._starts[number], self._sizes[number] = end, len(values)
                end += values.nbytes
        file.flush()

    def similarity(self, number: int, other: int, threshold: float) -> float:
        """Return the similarity of two articles, or 0 if their sizes show that it is below `threshold`."""
        small, large = sorted((self._sizes[number], self._sizes[other]))
        return similarity(self._read(number), self._read(other)) if small >= threshold * large else 0.0

    def _read(self, number: int) -> Hashes:
        size, start = int(self._sizes[number]), int(self._starts[number])
        return np.frombuffer(os.pread(self._descriptor, 4 * size, start), np.uint32)


def digest(text: str) -> int:
    """Return a hash of `text`, 64 bits."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def _mixed(values: Hashes) -> Hashes:
    """Return `values` with their bits mixed (the finalizer of MurmurHash3)."""
    values = (values ^ (values >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    values = (values ^ (values >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return values ^ (values >> np.uint32(16))
