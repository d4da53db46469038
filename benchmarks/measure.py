"""Timing side by side: contenders take turns, so that other work of the machine slows all of them alike."""

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
    """The values of one contender, one for every repetition."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the values."""
        return median(self.values)


@dataclass(frozen=True)
class Row:
    """One result of a subject, and its target."""

    subject: str
    """What was measured, as the table names it."""
    peer: str
    """What maskline is compared with."""
    ratio: float | None
    """maskline's value over the peer's; without a peer, maskline's value itself; None if there is no result."""
    target: float | None
    """The target of `ratio`; None if it has none."""
    bound: Literal["at least", "at most"] = "at least"
    """Whether `ratio` should be at least or at most `target`."""
    series: tuple[Series, ...] = ()
    """The raw values, ours first."""
    note: str = ""
    spread: tuple[float, float] | None = None
    """The smallest and the greatest ratio of a repetition."""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None if there is none."""
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
    """Time contenders in turns, A B A B ..., and return the rate of each in every repetition.

    Args:
        contenders: name -> a function that works and returns the amount of work (tokens, say), the same each time.
        unit: the unit of that amount.
        repetitions: measured turns of each contender.
        warmup: turns of each before them that are not measured.
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
    """Return a contender for `interleaved` that takes `times` updates in a turn."""

    def work() -> float:
        for _ in range(times):
            update()
        return times

    return work


def ratios(ours: Series, theirs: Series) -> tuple[float, ...]:
    """Return ours over theirs for every repetition; what slows both for a while cancels."""
    return tuple(a / b for a, b in zip(ours.values, theirs.values, strict=True))


def against(
    subject: str, ours: Series, theirs: Series, target: float | None = None, *, peer: str = "", note: str = ""
) -> Row:
    """Return the row of ours over theirs: the median of the ratios of the repetitions."""
    found = ratios(ours, theirs)
    spread = min(found), max(found)
    return Row(subject, peer or theirs.name, median(found), target, series=(ours, theirs), spread=spread, note=note)


def measured(
    subject: str, peer: str, figure: Series, target: float | None, bound: Literal["at least", "at most"] = "at most"
) -> Row:
    """Return the row of a figure without a peer, such as seconds or bytes, with a target of its own."""
    return Row(subject, peer, figure.median, target, bound, (figure,))


@dataclass(frozen=True)
class Child:
    """The time and memory that a command took, with its child processes."""

    seconds: float
    processor_seconds: float
    peak_bytes: int
    """Peak of the resident memory of all its processes together, sampled; shared pages count for each process."""
    largest_bytes: int
    """Peak of the resident memory of one process."""
    output: str
    """Its standard output."""


def child(command: Sequence[str | Path], cwd: Path | None = None) -> Child:
    """Run `command` in a new process, which earlier measurements cannot affect.

    Raises:
        RuntimeError: it failed; the message has its standard error.
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

    watcher = threading.Thread(target=watch, daemon=True)  # a daemon, so that an error ends the process
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
    """Return the resident bytes of a process and of each descendant, after a 0; processes that ended are left out."""
    import psutil

    found = [0]
    with suppress(psutil.NoSuchProcess):
        for process in (parent := psutil.Process(pid), *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                found.append(process.memory_info().rss)
    return found
