"""Articles from a dump, against wikiextractor, gensim and mwparserfromhell: speed, and the markup left in the text.

The input is the pages of the shared dumps, repeated, in one file of many bzip2 streams, as Wikimedia publishes it. All
use two processes. wikiextractor has the AGPL licence: it is run as a command, and is not a dependency; install it with
`pip install wikiextractor==3.1.0`.
"""

import bz2
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

from benchmarks.measure import Row, Series, against, child, interleaved, measured
from benchmarks.report import cores
from maskline.settings.params import PARAMS, load
from maskline.sources.dump.leftovers import broken_punctuation, leftover_markup
from maskline.sources.dump.pages import Page, read_pages
from maskline.sources.dump.source import read

SUBJECT = "dump extraction"
RAW = Path("../shared/data/dumps")
"""Folder of the dumps."""
PROCESSES = 2
MEGABYTES, FULL_MEGABYTES = 24, 100
"""Size of the XML."""
AT_LEAST = 4.0
"""Target: MB of XML per second on two cores."""
CORES = 1.7
"""Target: speed on two cores over that on one. It is below 2 because one process reads the file."""
ARABIC_MB, READER = 12_000, 30.0
"""MB of XML in the whole Arabic dump, about; and the most MB per second that the reader parses."""
_HEAD = (
    '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">\n  <siteinfo>\n'
    "    <sitename>Wikipedia</sitename>\n    <dbname>enwiki</dbname>\n"
    "    <base>https://en.wikipedia.org/wiki/Main_Page</base>\n    <namespaces>\n"
    '      <namespace key="0" case="first-letter" />\n      <namespace key="6" case="first-letter">File</namespace>\n'
    '      <namespace key="10" case="first-letter">Template</namespace>\n'
    '      <namespace key="14" case="first-letter">Category</namespace>\n    </namespaces>\n  </siteinfo>\n'
)

Extractor = Callable[[Path, Path], Iterable[str]]
"""Dump, scratch folder -> the texts of its articles."""


def rows() -> list[Row]:
    """Compare speed on 24 MB of XML, and the markup and broken punctuation left in the articles."""
    return _rows(MEGABYTES)


def full_rows() -> list[Row]:
    """Compare the same on 100 MB."""
    return _rows(FULL_MEGABYTES)


def _rows(megabytes: float) -> list[Row]:
    if not any(RAW.glob("*.bz2")):
        return [Row(SUBJECT, "ours", None, AT_LEAST, note=f"not measured: {RAW} is not there")]
    missing = [name for name in EXTRACTORS if name != "ours" and not find_spec(name)]
    with TemporaryDirectory() as name:
        scratch = Path(name)
        dump, size = _repeated(scratch, megabytes)
        texts: dict[str, list[str]] = {}

        def work(extractor: str) -> float:
            texts[extractor] = list(EXTRACTORS[extractor](dump, scratch))
            if not texts[extractor]:
                raise RuntimeError(f"{extractor} found no article")
            return size

        contenders: dict[str, Callable[[], float]] = {
            extractor: partial(work, extractor) for extractor in EXTRACTORS if extractor not in missing
        }
        contenders["one core"] = partial(on_one_core, partial(work, "ours"))
        series = interleaved(contenders, "MB", warmup=0)
    ours, one = series.pop("ours"), series.pop("one core")
    found = [measured(SUBJECT, "MB of XML per second", ours, AT_LEAST, "at least")]
    minutes = ARABIC_MB / min(8 * one.median, READER) / 60
    note = (
        f"estimate for the whole Arabic dump, {ARABIC_MB / 1000:.0f} GB of XML, on eight cores: {minutes:.0f} minutes"
    )
    if cores() > 1 and hasattr(os, "sched_setaffinity"):
        found.append(against(f"{SUBJECT}: two cores", ours, one, CORES, note=note))
    found += [against(SUBJECT, ours, theirs) for theirs in series.values()]
    found += [
        Row(SUBJECT, peer, None, None, note="not installed: see benchmarks/dump_extraction.py") for peer in missing
    ]
    return found + [row for kind in LEFT for row in _left(kind, texts)]


def on_one_core(work: Callable[[], float]) -> float:
    """Run `work`, and the processes that it starts, on one core; return its result."""
    if not hasattr(os, "sched_setaffinity"):  # only Linux has it
        return work()
    former = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(former)})
    try:
        return work()
    finally:
        os.sched_setaffinity(0, former)


def _left(kind: str, texts: dict[str, list[str]]) -> Iterator[Row]:
    """Yield for each extractor how often `kind` occurs in a million characters of its articles."""
    for extractor, articles in texts.items():
        count = sum(LEFT[kind](article).total() for article in articles)
        rate = 1e6 * count / sum(map(len, articles))
        figure = Series(extractor, f"{kind} per million characters", (rate,))
        yield measured(f"{SUBJECT}: {kind}", extractor, figure, 0 if extractor == "ours" else None)


def _holes(text: str) -> Counter[str]:
    """Return the broken punctuation, but not the brackets of a function such as f()."""
    return Counter(
        {hole: count for hole, count in broken_punctuation(text).items() if hole != "()" or f" {hole}" in text}
    )


LEFT: dict[str, Callable[[str], Counter[str]]] = {"markup": leftover_markup, "holes": _holes}


def _repeated(scratch: Path, megabytes: float) -> tuple[Path, float]:
    """Write the pages of all dumps, repeated to about `megabytes` of XML; return the file and its megabytes."""
    block = "".join(map(_xml, _pages())).encode()
    times = max(1, round(megabytes * 1e6 / len(block)))
    path = scratch / "repeated-pages-articles.xml.bz2"
    stream = bz2.compress(block)
    path.write_bytes(bz2.compress(_HEAD.encode()) + stream * times + bz2.compress(b"</mediawiki>\n"))
    return path, times * len(block) / 1e6


def _pages() -> Iterator[Page]:
    return (page for path in sorted(RAW.glob("*.bz2")) for _, page in read_pages(path))


def _xml(page: Page) -> str:
    redirect = '    <redirect title="x" />\n' if page.redirect else ""
    return (
        f"  <page>\n    <title>{escape(page.title)}</title>\n    <ns>{page.namespace}</ns>\n"
        f"    <id>{page.id}</id>\n{redirect}"
        f"    <revision>\n      <id>1{page.id}</id>\n      <model>wikitext</model>\n"
        f'      <text xml:space="preserve">{escape(page.text)}</text>\n    </revision>\n  </page>\n'
    )


def _ours(dump: Path, _: Path) -> Iterable[str]:
    params = load(PARAMS).corpus
    chosen = params.dump.model_copy(update={"paths": [str(dump)]})
    source = read(params.model_copy(update={"source": "dump", "dump": chosen}), PROCESSES, print)
    return (article.text for article in source.articles)


def _wikiextractor(dump: Path, scratch: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "wikiextractor.WikiExtractor", str(dump), "--json", "--no-templates", "--quiet"]
    child([*command, "--processes", str(PROCESSES), "-b", "1G", "-o", str(scratch / "wikiextractor")])
    for path in sorted((scratch / "wikiextractor").rglob("wiki_*")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if text := json.loads(line)["text"]:
                yield text


def _in_processes(function: Callable[[str], str], dump: Path) -> Iterator[str]:
    texts = (page.text for _, page in read_pages(dump) if page.namespace == 0 and not page.redirect)
    with get_context("spawn").Pool(PROCESSES) as pool:
        while batch := list(islice(texts, 64)):
            yield from pool.map(function, batch, chunksize=4)


def _gensim_text(wikitext: str) -> str:
    from gensim.corpora.wikicorpus import filter_wiki

    return str(filter_wiki(wikitext))


def _stripped(wikitext: str) -> str:
    import mwparserfromhell

    return str(mwparserfromhell.parse(wikitext).strip_code())


EXTRACTORS: dict[str, Extractor] = {
    "ours": _ours,
    "wikiextractor": _wikiextractor,
    "gensim": lambda dump, _: _in_processes(_gensim_text, dump),
    "mwparserfromhell": lambda dump, _: _in_processes(_stripped, dump),
}
