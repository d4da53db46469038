"""The sources by their name in params.yaml. A new source is a module in this folder and an entry here."""

from collections.abc import Callable

from maskline.corpus.articles import Source
from maskline.sources import files, hub, sample
from maskline.sources.dump import source as dump
from maskline.sources.dump.server import Say
from maskline.sources.settings import CorpusParams

SOURCES: dict[str, Callable[[CorpusParams], Source]] = {"sample": sample.read, "hub": hub.read, "files": files.read}


def open_source(params: CorpusParams, workers: int, say: Say) -> Source:
    """Return the articles of `params.source`.

    Only dumps use `workers`, the number of processes (0: one per core), and `say`, which is called with lines of
    progress.

    Raises:
        UserError: the source cannot be reached or read.
    """
    return dump.read(params, workers, say) if params.source == "dump" else SOURCES[params.source](params)
