"""The sources by their name in params.yaml; another one (a dump reader, say) is a file beside and a line here."""

from collections.abc import Callable

from maskline.corpus import files, hub, sample
from maskline.corpus.articles import Source
from maskline.params import CorpusParams

SOURCES: dict[str, Callable[[CorpusParams], Source]] = {"sample": sample.read, "hub": hub.read, "files": files.read}


def open_source(params: CorpusParams) -> Source:
    """Return the articles of `params.source`.

    Raises:
        UserError: the source cannot be reached or read.
    """
    return SOURCES[params.source](params)
