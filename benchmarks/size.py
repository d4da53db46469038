"""Time and memory of the stages before training against the size of the text: time is to be linear, memory bounded.

The stages run as commands on files of two sizes, with two texts: random text of no language, and Arabic articles
repeated with their words in another order, so that no copy is a near duplicate. The time is processor time, which other
programs on the machine affect least.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from ruamel.yaml import YAML

from benchmarks.arabic import ABSENT, BUILT, are_there, first_bytes, raw
from benchmarks.corpus import STAGES
from benchmarks.measure import Child, Row, Series, child
from maskline.corpus.articles import Article
from maskline.settings.files import read_yaml
from maskline.settings.params import PARAMS

MEGABYTES = {"arabic": (10, 40), "synthetic": (10, 40)}
FULL_MEGABYTES = {"arabic": (50, 200), "synthetic": (250, 1000)}
LINEAR = 1.1
"""Greatest ratio of the time per megabyte of the larger text to that of the smaller one."""
MOST_BYTES = int(1.5 * 2**30)
VOCAB_SIZE = 64_000
WORDS, LINE_WORDS, LINE_SENTENCES, LINES = 1_000_000, 20, 5, 5
"""The synthetic text: number of different words; means of words per sentence, sentences per line, lines per article."""


@dataclass(frozen=True)
class Run:
    """The time and memory of the stages for one text."""

    megabytes: float
    stages: dict[str, Child]


def rows() -> list[Row]:
    """Measure on 10 and 40 MB of text."""
    return [row for name, sizes in MEGABYTES.items() for row in _rows(name, sizes)]


def full_rows() -> list[Row]:
    """Measure on 250 MB and 1 GB of synthetic text, and on 50 and 200 MB of Arabic."""
    return [row for name, sizes in FULL_MEGABYTES.items() for row in _rows(name, sizes)]


def _rows(name: str, sizes: tuple[int, int]) -> Iterator[Row]:
    if name == "arabic" and not are_there():
        yield Row("size, arabic", "memory", None, MOST_BYTES, "at most", note=ABSENT)
        return
    BUILT.parent.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=BUILT.parent) as folder:
        runs = [measure(TEXTS[name](), name, int(1e6 * size), Path(folder) / str(size)) for size in sizes]
    yield from compare(f"size, {name}", *runs)


def compare(subject: str, small: Run, large: Run) -> Iterator[Row]:
    """Yield the row of processor time per megabyte for each stage, then the row of the greatest memory of a stage."""
    sizes = [f"{run.megabytes:,.0f} MB" for run in (large, small)]
    for stage in large.stages:
        took = [run.stages[stage] for run in (large, small)]
        seconds = [Series(size, "s", (one.processor_seconds,)) for size, one in zip(sizes, took, strict=True)]
        each = [one.processor_seconds / run.megabytes for one, run in zip(took, (large, small), strict=True)]
        peaks = " and ".join(
            f"{one.peak_bytes / 1e6:,.0f} MB at {size} (largest process {one.largest_bytes / 1e6:,.0f})"
            for one, size in zip(took, sizes, strict=True)
        )
        waited = " and ".join(f"{one.seconds:,.1f}" for one in took)
        note = f"{waited} s by the clock; memory of all processes: {peaks}"
        yield Row(
            f"{subject}: {stage}", "processor time per MB", each[0] / each[1], LINEAR, "at most", tuple(seconds), note
        )
    peak = max(one.peak_bytes for run in (small, large) for one in run.stages.values())
    yield Row(subject, "bytes of memory at most", peak, MOST_BYTES, "at most")


def measure(articles: Iterator[Article], language: str, size: int, folder: Path) -> Run:
    """Run the stages on the first `size` bytes of `articles`; all files are in `folder`."""
    folder.mkdir(parents=True)
    with (folder / "articles.jsonl").open("w", encoding="utf-8") as file:
        for article in first_bytes(size, articles):
            file.write(json.dumps(article._asdict(), ensure_ascii=False) + "\n")
    settings = read_yaml(PARAMS)
    settings["corpus"] |= {"language": LANGUAGES[language], "source": "files"}
    settings["corpus"]["files"]["paths"] = [str(folder / "articles.jsonl")]
    settings["tokenizer"] |= {"vocab_size": VOCAB_SIZE}
    settings |= {"tasks": {}}
    YAML().dump(settings, folder / "params.yaml")
    took = {}
    for stage, options in STAGES.items():
        paths = {"--params": "params.yaml", **options} | ({"--report": "reports/corpus"} if stage == "fetch" else {})
        command = [
            sys.executable,
            "-m",
            f"pipeline.{stage}",
            *(f"{key}={folder / path}" for key, path in paths.items()),
        ]
        done = took[stage] = child(command)
        sys.stdout.write(
            f"{size / 1e6:,.0f} MB, {language}, {stage}: {done.seconds:.1f} s, {done.processor_seconds:.1f} of cores, "
            f"{done.peak_bytes / 1e6:,.0f} MB, largest process {done.largest_bytes / 1e6:,.0f} MB\n"
        )
        sys.stdout.flush()
    return Run(size / 1e6, took)


def shuffled_arabic() -> Iterator[Article]:
    """Yield the Arabic articles without end; from the second time on the words of each line are shuffled."""
    yield from raw()
    for copy in count(1):
        draw = np.random.default_rng(copy)
        for article in raw():
            lines = (line.split(" ") for line in article.text.split("\n"))
            text = "\n".join(" ".join(line[place] for place in draw.permutation(len(line))) for line in lines)
            yield article._replace(id=f"{article.id}-{copy}", text=text)


def synthetic() -> Iterator[Article]:
    """Yield random articles without end; each depends on its number alone.

    The frequency of a word is proportional to 1 / (rank + 2.7) (Mandelbrot 1953), so frequent words are short, and new
    words keep coming. A sentence begins with a capital and ends with a full stop.
    """
    words = [_word(rank) for rank in range(1, WORDS + 1)]
    sums = np.cumsum(1 / (np.arange(WORDS) + 2.7))
    for number in count():
        draw = np.random.default_rng([0, number])
        lines = (1 + draw.poisson(LINE_SENTENCES - 1, 1 + int(draw.exponential(LINES - 1)))).tolist()
        lengths = (3 + draw.poisson(LINE_WORDS - 3, sum(lines))).tolist()
        places = np.searchsorted(sums, draw.random(sum(lengths)) * sums[-1])
        drawn = iter([words[place] for place in places.tolist()])
        sentences = (" ".join(islice(drawn, length)).capitalize() + "." for length in lengths)
        text = "\n".join(" ".join(islice(sentences, size)) for size in lines)
        yield Article(str(number), f"Article {number}", "", text)


def _word(rank: int) -> str:
    """Return the word of a rank, counted from 1: the rank written with syllables as digits, so rare words are long."""
    word = ""
    while rank:
        rank, place = divmod(rank - 1, len(_SYLLABLES))
        word = _SYLLABLES[place] + word
    return word


_SYLLABLES = [consonant + vowel for consonant in "bcdfghklmnprstvz" for vowel in "aeiou"]
LANGUAGES = {"synthetic": "en", "arabic": "ar"}
TEXTS: dict[str, Callable[[], Iterator[Article]]] = {"arabic": shuffled_arabic, "synthetic": synthetic}
