"""Time and memory of the stages before training, against the size of the text: is the one linear and the other bounded?

The stages run as their own commands, on files of two sizes: text of no language, drawn for the purpose, and Arabic
articles repeated with their words in another order, so that no copy is a near duplicate of another. Linear is the time
of the processors, which other programs on the machine lengthen least.
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

from benchmarks.arabic import ABSENT, BUILT, raw, there, until
from benchmarks.corpus import STAGES
from benchmarks.measure import Child, Row, Series, child
from maskline.corpus.articles import Article
from maskline.settings.files import read_yaml
from maskline.settings.params import PARAMS

MEGABYTES = {"arabic": (10, 40), "synthetic": (10, 40)}
FULL_MEGABYTES = {"arabic": (50, 200), "synthetic": (250, 1000)}
LINEAR = 1.1
"""What a megabyte may take in the larger text, over what it takes in the smaller one."""
MOST_BYTES = int(1.5 * 2**30)
VOCAB_SIZE = 64_000
WORDS, LINE_WORDS, LINE_SENTENCES, LINES = 1_000_000, 20, 5, 5
"""Of the synthetic text: different words; words of a sentence, sentences of a line, lines of an article (the means)."""


@dataclass(frozen=True)
class Run:
    """What the stages took for one text."""

    megabytes: float
    stages: dict[str, Child]


def rows() -> list[Row]:
    """Measure on 10 and 40 MB of text."""
    return [row for name, sizes in MEGABYTES.items() for row in _rows(name, sizes)]


def full_rows() -> list[Row]:
    """Measure on 250 MB and 1 GB of synthetic text, and on 50 and 200 MB of Arabic."""
    return [row for name, sizes in FULL_MEGABYTES.items() for row in _rows(name, sizes)]


def _rows(name: str, sizes: tuple[int, int]) -> Iterator[Row]:
    if name == "arabic" and not there():
        yield Row("size, arabic", "memory", None, MOST_BYTES, "at most", note=ABSENT)
        return
    BUILT.parent.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=BUILT.parent) as folder:
        runs = [measure(TEXTS[name](), name, int(1e6 * size), Path(folder) / str(size)) for size in sizes]
    yield from compare(f"size, {name}", *runs)


def compare(subject: str, small: Run, large: Run) -> Iterator[Row]:
    """Yield for each stage the row of processor time per megabyte, then that of the largest memory of any."""
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
    """Run the stages on the first `size` bytes of `articles`, all files below `folder`."""
    folder.mkdir(parents=True)
    with (folder / "articles.jsonl").open("w", encoding="utf-8") as file:
        for article in until(size, articles):
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


def arabic_again() -> Iterator[Article]:
    """Yield the Arabic articles without end, from the second time on with the words of each line in another order."""
    yield from raw()
    for copy in count(1):
        draw = np.random.default_rng(copy)
        for article in raw():
            lines = (line.split(" ") for line in article.text.split("\n"))
            text = "\n".join(" ".join(line[place] for place in draw.permutation(len(line))) for line in lines)
            yield article._replace(id=f"{article.id}-{copy}", text=text)


def synthetic() -> Iterator[Article]:
    """Yield articles without end, each drawn by its number alone.

    Words occur as 1 / (rank + 2.7) (Mandelbrot 1953), so that the frequent ones are short and new ones come all the
    time. A sentence begins with a capital and ends with a full stop.
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
    """Return a word of its own for each rank from 1 on, the longer the rarer: the rank in syllables as digits."""
    word = ""
    while rank:
        rank, place = divmod(rank - 1, len(_SYLLABLES))
        word = _SYLLABLES[place] + word
    return word


_SYLLABLES = [consonant + vowel for consonant in "bcdfghklmnprstvz" for vowel in "aeiou"]
LANGUAGES = {"synthetic": "en", "arabic": "ar"}
TEXTS: dict[str, Callable[[], Iterator[Article]]] = {"arabic": arabic_again, "synthetic": synthetic}
