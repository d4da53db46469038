"""Articles of a wiki from its dump: local files, or files that are downloaded."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from maskline.corpus.articles import Article, Source
from maskline.records.files import describe, find
from maskline.sources.dump.definitions import Definitions
from maskline.sources.dump.download import fetch_dump
from maskline.sources.dump.losses import sentence_losses, without_sentences
from maskline.sources.dump.pages import MAX_CHARACTERS, OPENERS, Page, SitePage, read_pages
from maskline.sources.dump.server import Say
from maskline.sources.dump.siteinfo import TEMPLATE
from maskline.sources.dump.spool import Spool
from maskline.sources.dump.wikitext import clean_page, is_redirect
from maskline.sources.dump.workers import in_order
from maskline.sources.settings import CorpusParams

BATCH_CHARACTERS = 1 << 18
"""Characters of the pages that a process is given at once."""
BATCH_PAGES = 256
"""Most pages that a process is given at once."""


def read(params: CorpusParams, workers: int, say: Say) -> Source:
    """Return the articles of a dump, cleaned by `workers` processes (0: one per core).

    Raises:
        UserError: nothing matches `params.dump.paths`, the dump cannot be downloaded, or (while it is read) a file is
            not a complete dump.
    """
    if params.dump.paths:
        paths = find(params.dump.paths, OPENERS, "corpus.dump.paths", gzipped=False)
        origin: dict[str, Any] = {"inputs": describe(paths)}
    else:
        paths, origin = fetch_dump(params.dump, params.language, say=say)
    counts = _Counts(params.language)
    return Source(
        _articles(paths, params.language, workers or os.cpu_count() or 1, counts),
        provenance={"source": "dump", "language": params.language, **origin},
        licence="CC BY-SA (text of the wiki's contributors; its main page says which version)",
        dropped=counts.dropped,
        report=counts.report,
    )


class _Counts:
    """Counts of the pages that are dropped and cleaned; complete after all pages are read."""

    def __init__(self, language: str) -> None:
        self._language = language
        self.dropped = Counter[str](
            dict.fromkeys(("other_namespace", "redirect", "no_wikitext", "disambiguation", "too_long", "ended"), 0)
        )
        self.cleaning = Counter[str](dict.fromkeys(("repaired", "items", "appendices"), 0))
        self.skipped: dict[str, list[str]] = {"too_long": [], "ended": []}
        self.definitions: dict[str, Definitions] = {}
        """Name of a wiki -> what its pages say of its templates; complete after all pages are read."""

    def skip(self, page: Page, reason: str) -> None:
        self.dropped[reason] += 1
        self.skipped[reason].append(page.id)

    def report(self) -> dict[str, Any]:
        templates = {
            "read": sum(found.read for found in self.definitions.values()),
            "known": sum(map(len, self.definitions.values())),
            "no_room": sum(found.left_out for found in self.definitions.values()),
        }
        return {
            "cleaning": without_sentences(self.cleaning),
            "sentences": sentence_losses(self.cleaning, self._language),
            "templates": templates,
            "skipped": self.skipped,
        }


def _articles(paths: Sequence[Path], language: str, workers: int, counts: _Counts) -> Iterator[Article]:
    with Spool() as spool:
        for batch in _batches(_candidates(paths, workers, counts)):
            spool.add(batch)
        clean = partial(clean_page, language, counts.definitions)
        for (site, page), cleaned in in_order(clean, spool.batches(), workers):
            if cleaned is None:
                counts.skip(page, "ended")
                continue
            if cleaned.disambiguation:
                counts.dropped["disambiguation"] += 1
                continue
            counts.cleaning.update(cleaned.counts)
            identity = page.id or page.title  # an export by hand may have no ids
            identity = f"{site.name}-{identity}" if site.name else identity
            yield Article(identity, page.title, site.url(page.title), cleaned.text)


def _candidates(paths: Iterable[Path], threads: int, counts: _Counts) -> Iterator[SitePage]:
    """Yield the pages that may be articles; count the others, and keep what they say of templates."""
    for path in paths:
        for site, page in read_pages(path, threads):
            if page.namespace != 0:
                counts.dropped["other_namespace"] += 1
                if page.namespace == TEMPLATE and page.model == "wikitext":
                    redirect = page.redirect or is_redirect(page.text)
                    counts.definitions.setdefault(site.name, Definitions()).add(site, page.title, page.text, redirect)
            elif page.redirect or is_redirect(page.text):
                counts.dropped["redirect"] += 1
            elif page.model != "wikitext":
                counts.dropped["no_wikitext"] += 1
            elif len(page.text) > MAX_CHARACTERS:
                counts.skip(page, "too_long")
            else:
                yield site, page


def _batches(tasks: Iterable[SitePage]) -> Iterator[list[SitePage]]:
    batch: list[SitePage] = []
    characters = 0
    for task in tasks:
        batch.append(task)
        characters += len(task[1].text)
        if characters >= BATCH_CHARACTERS or len(batch) == BATCH_PAGES:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
