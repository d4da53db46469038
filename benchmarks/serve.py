"""A server under load: `pipeline.serve` beside `pipeline.embed` and the textbook's server, on the same texts.

Fifty connections ask for the vector of one text after the other, of one to six sentences; the client is a process of
its own. The model has the size of all-MiniLM-L6-v2, the memory is that of a model of the default size.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.corpus import reference_data
from benchmarks.inference import new_model, sentences
from benchmarks.measure import Row, Series, against, measured
from benchmarks.report import cores
from maskline.inference.vectors import VectorSettings, open_encoder

SUBJECT = "a server under load"
EMBED = "embed on the same texts"
TEXTBOOK = "FastAPI, encode in the handler"
SIZE = {"layers": 6, "hidden": 384, "heads": 12, "intermediate": 1536, "max_positions": 512}
"""all-MiniLM-L6-v2."""
TEXTS = 600
MOST_SENTENCES = 6
CONNECTIONS = 50
SECONDS = 60.0
WARMUP_SECONDS = 5.0
LARGE = 1_000
"""Texts of the large request that health is asked beside."""
HEALTH_EVERY_SECONDS = 0.02
REQUESTS = 50_000
SETTLED = 0.2
"""Share of the requests after which memory should no longer grow."""
THROUGHPUT, SPREAD, HEALTH_SECONDS, TOLERANCE, GROWTH = 0.8, 4.0, 0.1, 1e-5, 1.05
"""Targets."""


@dataclass
class Load:
    """What clients have seen."""

    seconds: float = 0.0
    taken: list[float] = field(default_factory=list)
    """Seconds of each answer."""
    faults: int = 0
    difference: float = 0.0
    """The largest one of a vector from that which the same text has alone."""

    @property
    def rate(self) -> float:
        """Return answers a second."""
        return len(self.taken) / self.seconds

    def quantile(self, share: float) -> float:
        """Return the seconds within which a share of the answers came."""
        return float(np.quantile(self.taken, share))


def rows() -> list[Row]:
    """Measure for about six minutes."""
    torch.set_num_threads(cores())
    data = reference_data()
    texts = mixed(sentences(data, TEXTS * (MOST_SENTENCES + 1) // 2))
    with tempfile.TemporaryDirectory() as folder:
        large = new_model(data, Path(folder) / "large", **SIZE)
        small = new_model(data, Path(folder) / "small")
        return [*rows_of(large, texts, SECONDS), memory_row(small, texts, REQUESTS)]


def rows_of(directory: Path, texts: Sequence[str], seconds: float) -> list[Row]:
    """Return the rows of the model in `directory`, of which each server is under load for `seconds`."""
    embed = embedding_rate(directory, texts)
    with serving("pipeline.serve", directory) as (address, _):
        alone = [ask(address, [text]) for text in texts]
        under_load(address, texts, alone, until_time(WARMUP_SECONDS))
        ours = under_load(address, texts, alone, until_time(seconds))
        health = health_beside(address, [*texts, *texts][:LARGE])
    with serving("benchmarks.peers.textbook", directory) as (address, _):
        under_load(address, texts, alone, until_time(WARMUP_SECONDS))
        theirs = under_load(address, texts, alone, until_time(seconds))
    rate = Series("ours", "texts/s", (ours.rate,))
    note = f"{CONNECTIONS} connections, {len(ours.taken):,} requests of a text; {described(ours)}"
    return [
        against(SUBJECT, rate, Series(EMBED, "texts/s", (embed,)), THROUGHPUT, note=note),
        against(
            SUBJECT,
            rate,
            Series(TEXTBOOK, "texts/s", (theirs.rate,)),
            note=f"{len(theirs.taken):,} answers of theirs; {described(theirs)}",
        ),
        measured(SUBJECT, "p99 over p50", Series("ours", "", (ours.quantile(0.99) / ours.quantile(0.5),)), SPREAD),
        measured(SUBJECT, "faults", Series("ours", "", (float(ours.faults),)), 0),
        measured(SUBJECT, "difference from answers alone", Series("ours", "", (ours.difference,)), TOLERANCE),
        measured(
            SUBJECT,
            f"longest of {len(health)} answers of /health beside {LARGE:,} texts",
            Series("ours", "s", (max(health),)),
            HEALTH_SECONDS,
        ),
    ]


def described(load: Load) -> str:
    """Return latencies and faults in words."""
    low, high = (1000 * load.quantile(share) for share in (0.5, 0.99))
    return f"{low:.0f} ms (p50), {high:.0f} ms (p99), {load.faults} faults, difference {load.difference:.0e}"


def memory_row(directory: Path, texts: Sequence[str], requests: int) -> Row:
    """Return the row of the server's memory after `requests`, over that after the first of them."""
    import psutil

    with serving("pipeline.serve", directory) as (address, pid):
        alone = [ask(address, [text]) for text in texts]
        process = psutil.Process(pid)
        under_load(address, texts, alone, until_count(int(SETTLED * requests)))
        before = process.memory_info().rss
        load = under_load(address, texts, alone, until_count(requests - int(SETTLED * requests)))
        after = process.memory_info().rss
    note = f"{before >> 20} MB after {SETTLED * requests:,.0f} requests, {after >> 20} MB after {requests:,}; "
    note += f"{load.rate:,.0f} requests/s, {described(load)}"
    series = Series("after", "bytes", (float(after),)), Series("before", "bytes", (float(before),))
    return Row(SUBJECT, f"memory, {requests:,} requests", after / before, GROWTH, "at most", series, note)


def mixed(found: Sequence[str]) -> list[str]:
    """Return TEXTS texts of one to MOST_SENTENCES sentences."""
    sizes = [number % MOST_SENTENCES + 1 for number in range(TEXTS)]
    starts = np.cumsum([0, *sizes])
    return [" ".join(found[start : start + size]) for start, size in zip(starts, sizes, strict=False)]


def embedding_rate(directory: Path, texts: Sequence[str]) -> float:
    """Return the texts per second of what `pipeline.embed` computes with, after texts that warm up."""
    opened = open_encoder(directory)
    opened.vectors(list(texts[:50]), VectorSettings())
    started = time.perf_counter()
    opened.vectors(list(texts), VectorSettings())
    return len(texts) / (time.perf_counter() - started)


@contextmanager
def serving(module: str, directory: Path) -> Iterator[tuple[str, int]]:
    """Run a server in a process of its own; give its address and its process."""
    command = [sys.executable, "-m", module, str(directory)]
    if module.startswith("pipeline."):
        command += ["--port", "0", "--most-bytes", str(64 << 20)]
    threads = {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | threads) as process:  # noqa: S603
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield line.partition("http://")[2].partition(" ")[0], process.pid
        finally:
            process.terminate()


class Connection:
    """A connection that stays open."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=600)

    def post(self, texts: Sequence[str]) -> tuple[int, bytes]:
        """Return the status and the body of the answer of /embed."""
        body = json.dumps({"texts": list(texts), "truncate": True})  # as the textbook does unasked
        self._connection.request("POST", "/embed", body, {"content-type": "application/json"})
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def health(self) -> bool:
        """Return whether the server says that it is well."""
        self._connection.request("GET", "/health")
        answer = self._connection.getresponse()
        answer.read()
        return answer.status == http.client.OK

    def close(self) -> None:
        """Close it."""
        self._connection.close()


def vector_of(body: bytes) -> NDArray[Any]:
    """Return the first vector of an answer."""
    return np.array(json.loads(body)["vectors"][0], np.float32)


def ask(address: str, texts: Sequence[str]) -> NDArray[Any]:
    """Return the vector of the first text, asked alone."""
    connection = Connection(address)
    _, body = connection.post(texts)
    connection.close()
    return vector_of(body)


def until_time(seconds: float) -> Callable[[int], bool]:
    """Return what says whether another request may begin: for some seconds."""
    end = time.perf_counter() + seconds
    return lambda _: time.perf_counter() < end


def until_count(requests: int) -> Callable[[int], bool]:
    """Return what says whether another request may begin: a number of them."""
    return lambda number: number < requests


def under_load(
    address: str, texts: Sequence[str], alone: Sequence[NDArray[Any]], goes_on: Callable[[int], bool]
) -> Load:
    """Ask for one text after the other on CONNECTIONS connections while `goes_on` says so of the next number.

    What is no answer, or breaks off, is a fault; `alone` are the vectors that are expected.
    """
    load, numbers, lock = Load(), count(), threading.Lock()

    def client() -> None:
        connection = Connection(address)
        while goes_on(number := next(numbers)):
            started = time.perf_counter()
            try:
                status, body = connection.post([texts[number % len(texts)]])
            except (OSError, http.client.HTTPException):
                status, body = 0, b""
                connection.close()
            taken = time.perf_counter() - started
            with lock:
                if status == http.client.OK:
                    load.taken.append(taken)
                    different = np.abs(vector_of(body) - alone[number % len(texts)]).max()
                    load.difference = max(load.difference, float(different))
                else:
                    load.faults += 1
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(CONNECTIONS)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    load.seconds = time.perf_counter() - started
    return load


def health_beside(address: str, texts: Sequence[str]) -> list[float]:
    """Return the seconds of each answer of /health while a request of all `texts` runs."""
    large, small = Connection(address), Connection(address)
    thread = threading.Thread(target=large.post, args=(texts,))
    thread.start()
    taken = []
    while thread.is_alive():
        started = time.perf_counter()
        assert small.health()
        taken.append(time.perf_counter() - started)
        time.sleep(HEALTH_EVERY_SECONDS)
    large.close()
    small.close()
    return taken
