"""The sources by their name in params.yaml; another one is a file beside and a line here."""

from collections.abc import Callable

from maskline.corpus import files, hub, sample
from maskline.corpus.articles import Source
from maskline.corpus.dump import source as dump
from maskline.corpus.dump.server import Say
from maskline.params import CorpusParams

SOURCES: dict[str, Callable[[CorpusParams], Source]] = {"sample": sample.read, "hub": hub.read, "files": files.read}


def open_source(params: CorpusParams, workers: int, say: Say) -> Source:
    """Return the articles of `params.source`; `workers` (0: one per core) and `say`, told of progress, are for dumps.

    Raises:
        UserError: the source cannot be reached or read.
    """
    return dump.read(params, workers, say) if params.source == "dump" else SOURCES[params.source](params)
