"""Timing side by side: contenders take turns, so that whatever else the machine does meets all of them alike."""

import resource
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

REPETITIONS = 5
SAMPLED_EVERY_SECONDS = 0.01


@dataclass(frozen=True)
class Series:
    """What one contender reached, a value for every repetition."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Return the middle value."""
        return median(self.values)


@dataclass(frozen=True)
class Row:
    """One figure of a subject, held against a target."""

    subject: str
    """What was measured, as the table names it."""
    peer: str
    """What ours is held against."""
    ratio: float | None
    """Ours over the peer's, or the figure itself where nobody stands beside it; None where it was not reached."""
    target: float | None
    """What `ratio` should be; None where the row is there to compare."""
    bound: Literal["at least", "at most"] = "at least"
    """On which side of `target` it should be."""
    series: tuple[Series, ...] = ()
    """The raw values, ours first."""
    note: str = ""
    spread: tuple[float, float] | None = None
    """The least and the greatest ratio of a repetition."""

    @property
    def met(self) -> bool | None:
        """Return whether the target is met, None where there is none."""
        if self.target is None:
            return None
        if self.ratio is None:
            return False
        return self.ratio >= self.target if self.bound == "at least" else self.ratio <= self.target


def interleaved(
    contenders: Mapping[str, Callable[[], float]],
    unit: str,
    *,
    repetitions: int = REPETITIONS,
    warmup: int = 1,
) -> dict[str, Series]:
    """Time contenders in turns, A B A B ..., and return what each did in a second of every repetition.

    Args:
        contenders: name -> a function that works and returns how much it did (tokens, say); the same work each time.
        unit: what is counted.
        repetitions: measured turns of each.
        warmup: turns of each before these, not measured.
    """
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(-warmup, repetitions):
        for name, work in contenders.items():
            started = time.perf_counter()
            amount = work()
            seconds = time.perf_counter() - started
            if turn >= 0:
                rates[name].append(amount / seconds)
    return {name: Series(name, f"{unit}/s", tuple(values)) for name, values in rates.items()}


def turn(update: Callable[[], object], times: int) -> Callable[[], float]:
    """Return a turn for `interleaved` that takes `times` updates and says so."""

    def work() -> float:
        for _ in range(times):
            update()
        return times

    return work


def ratios(ours: Series, theirs: Series) -> tuple[float, ...]:
    """Return ours over theirs for every repetition: what slowed both for a while is in neither."""
    return tuple(a / b for a, b in zip(ours.values, theirs.values, strict=True))


def against(
    subject: str, ours: Series, theirs: Series, target: float | None = None, *, peer: str = "", note: str = ""
) -> Row:
    """Return the row of how many times theirs ours is: the median over the repetitions."""
    found = ratios(ours, theirs)
    spread = min(found), max(found)
    return Row(subject, peer or theirs.name, median(found), target, series=(ours, theirs), spread=spread, note=note)


def measured(
    subject: str, peer: str, figure: Series, target: float | None, bound: Literal["at least", "at most"] = "at most"
) -> Row:
    """Return the row of a figure that nobody stands beside: seconds or bytes, say, held against a target itself."""
    return Row(subject, peer, figure.median, target, bound, (figure,))


@dataclass(frozen=True)
class Child:
    """What a command took, child processes included."""

    seconds: float
    processor_seconds: float
    peak_bytes: int
    """The largest resident memory of all its processes together, sampled; pages that they share count in each."""
    largest_bytes: int
    """The largest resident memory of any one of them."""
    output: str
    """What it printed."""


def child(command: Sequence[str | Path], cwd: Path | None = None) -> Child:
    """Run `command` in a process of its own, where nothing that was measured before can help or hinder it.

    Raises:
        RuntimeError: it failed; the message is what it said.
    """
    arguments = [str(part) for part in command]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(  # noqa: S603
        arguments, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    peak, largest, ended = 0, 0, threading.Event()

    def watch() -> None:
        nonlocal peak, largest
        while not ended.wait(SAMPLED_EVERY_SECONDS):
            resident = _resident(process.pid)
            peak, largest = max(peak, sum(resident)), max(largest, *resident)

    watcher = threading.Thread(target=watch, daemon=True)  # an error must not wait for it
    watcher.start()
    output, said = process.communicate()
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    ended.set()
    watcher.join()
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed ({process.returncode}): {said.strip()}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Child(seconds, processor, peak, largest, output)


def _resident(pid: int) -> list[int]:
    """Return the bytes in memory of a process and of each descendant; 0 for those that are gone."""
    import psutil

    found = [0]
    with suppress(psutil.NoSuchProcess):
        for process in (parent := psutil.Process(pid), *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                found.append(process.memory_info().rss)
    return found
