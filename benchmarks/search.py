"""Indexes over vectors: how fast, how large, how much they find of what the flat one does, and what building takes.

One thread, one process, one query at a time. The vectors lie around centres, as those of texts do.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, Series
from benchmarks.report import REPORTS
from maskline.core.storage import write_csv
from maskline.inference import index, search

SUBJECT = "search among vectors"
COUNT, FULL_COUNT = 10_000, 1_000_000
DIMENSIONS = 384
QUERIES = 200
K = 10
RECALL = 0.95
SPREAD = 1.0
"""How far vectors lie from their centre, as a multiple of how far centres lie from 0."""
PER_CENTRE = 100
BREADTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""What the curve is drawn over: lists that IVF looks through, candidates of HNSW."""


def rows() -> list[Row]:
    """Measure at 10,000 vectors."""
    return rows_at(COUNT)


def full_rows() -> list[Row]:
    """Measure at 1,000,000 vectors, which takes 2 GB and more than an hour."""
    return rows_at(FULL_COUNT)


def rows_at(count: int) -> list[Row]:
    """Return the row of each index over `count` vectors, and draw recall over latency for the approximate ones."""
    import faiss

    faiss.omp_set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / index.VECTORS
        queries = write_vectors(path, count)
        vectors = np.load(path, mmap_mode="r")
        flat = search.Nearest(Path(folder), vectors)
        expected, taken = ask(flat, "flat", queries)
        found = [row(count, "flat", taken, 1.0, 0.0, path.stat().st_size)]
        curve: list[dict[str, Any]] = []
        (Path(folder) / index.INDEXES).mkdir()
        for kind in ("ivf", "hnsw"):
            file = Path(folder) / index.INDEXES / f"{kind}.faiss"
            started = time.perf_counter()
            index.build_approximate(file, kind, vectors)
            seconds = time.perf_counter() - started
            rows, taken = ask(flat, kind, queries)
            found.append(row(count, kind, taken, recall(rows, expected), seconds, file.stat().st_size))
            for breadth in BREADTHS:
                with breadth_of(breadth):
                    rows, taken = ask(flat, kind, queries)
                point = {"index": kind, "breadth": breadth, "recall": recall(rows, expected)}
                curve.append(point | {"milliseconds": 1000 * float(np.median(taken))})
    write_csv(REPORTS / f"search-{count}.csv", curve, ("index", "breadth", "recall", "milliseconds"))
    draw(curve, REPORTS / f"search-{count}.png", found[0].series[0].median)
    return found


def row(count: int, kind: str, taken: list[float], share: float, seconds: float, size: int) -> Row:
    """Return the row of an index: its recall at 10, with latency, build time and size in the note."""
    low, high = (1000 * float(value) for value in np.quantile(taken, [0.5, 0.95]))
    note = f"{count:,} vectors: {low:.2f} ms (p50), {high:.2f} ms (p95), built in {seconds:.1f} s, {size:,} bytes"
    series = (Series(kind, "ms", tuple(1000 * value for value in taken)),)
    return Row(SUBJECT, f"{kind}, recall at {K}", share, None if kind == "flat" else RECALL, series=series, note=note)


def write_vectors(path: Path, count: int) -> NDArray[np.float32]:
    """Write `count` vectors of length 1 to `path`, some at a time; return queries that lie around the same centres."""
    draws = np.random.default_rng(0)
    centres = draws.standard_normal((max(1, count // PER_CENTRE), DIMENSIONS), np.float32)

    def around(number: int) -> NDArray[np.float32]:
        found = centres[draws.integers(0, len(centres), number)]
        found = found + SPREAD * draws.standard_normal((number, DIMENSIONS), np.float32)
        unit: NDArray[np.float32] = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit

    file = np.lib.format.open_memmap(path, "w+", np.float32, (count, DIMENSIONS))
    for start in range(0, count, index.BLOCK):
        block = file[start : start + index.BLOCK]
        block[:] = around(len(block))
    file.flush()
    return around(QUERIES)


def ask(nearest: "search.Nearest", kind: str, queries: NDArray[np.float32]) -> tuple[list[set[int]], list[float]]:
    """Return the rows that are found for each query and the seconds that each took, after a query that warms up."""
    nearest.ranking(kind, queries[0], K)
    found, taken = [], []
    for query in queries:
        started = time.perf_counter()
        rows, _ = nearest.ranking(kind, query, K)
        taken.append(time.perf_counter() - started)
        found.append(set(rows.tolist()))
    return found, taken


def recall(found: list[set[int]], expected: list[set[int]]) -> float:
    """Return the share of the expected rows that were found."""
    return sum(len(a & b) for a, b in zip(found, expected, strict=True)) / sum(map(len, expected))


@contextmanager
def breadth_of(breadth: int) -> Iterator[None]:
    """Let the indexes look through `breadth` lists or candidates in the block."""
    usual = search.PROBES, search.CANDIDATES
    search.PROBES = search.CANDIDATES = breadth
    try:
        yield
    finally:
        search.PROBES, search.CANDIDATES = usual


def draw(curve: list[dict[str, Any]], path: Path, flat: float) -> None:
    """Draw recall over latency to `path`; `flat` is that of the exact index, in milliseconds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(xscale="log", xlabel="milliseconds a query (p50)", ylabel=f"recall at {K}")
    for kind in ("ivf", "hnsw"):
        points = [point for point in curve if point["index"] == kind]
        axes.plot([point["milliseconds"] for point in points], [point["recall"] for point in points], "o-", label=kind)
    axes.axvline(flat, linestyle="--", color="gray", label="flat")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
