"""Pages out of a dump: XML, plain or compressed by bzip2 or gzip, read as a stream.

What the dump says of its own wiki comes first, `<siteinfo>`; then one `<page>` after another, of which one at a time is
in memory. expat reads it, which takes the encoding from the file (UTF-16 occurs) and expands no entity into a bomb.
"""

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast
from xml.parsers import expat

from maskline.core.errors import UserError
from maskline.sources.dump.siteinfo import Site

OPENERS: dict[str, Callable[[Path], BinaryIO]] = {
    ".xml": lambda path: path.open("rb"),
    ".bz2": lambda path: cast("BinaryIO", bz2.open(path)),  # noqa: SIM115
    ".gz": lambda path: cast("BinaryIO", gzip.open(path)),  # noqa: SIM115
}
"""Last suffix -> how it is opened. Both compressed kinds may hold several streams after one another."""
_CHUNK = 1 << 17
_PAGE = "mediawiki/page"
_SITE = "mediawiki/siteinfo"


class Page(NamedTuple):
    """One page in the last of its revisions that the dump has."""

    id: str
    title: str
    namespace: int
    redirect: bool
    """Whether the dump itself says so."""
    model: str
    """`wikitext`, or what else the page is written in."""
    text: str


SitePage = tuple[Site, Page]
"""A page and the wiki that it is of."""


def read_pages(path: Path) -> Iterator[SitePage]:
    """Yield the pages of one file in their order, each with what the file says of its wiki.

    Raises:
        UserError: it is no MediaWiki XML, or ends before its closing tag, as one that was cut between two bzip2 streams
            does.
    """
    reader = _Reader()
    read = False
    try:
        with OPENERS[path.suffix](path) as file:
            while chunk := file.read(_CHUNK):
                reader.parser.Parse(chunk)
                yield from reader.take()
            read = True
            reader.parser.Parse(b"", True)  # expat's own way to say that it was the last
            yield from reader.take()
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(f"{path} cannot be read to its end ({error}): download it again") from None
    except expat.ExpatError as error:
        if read:
            raise UserError(f"{path} ends before its closing tag: download it again") from None
        raise UserError(f"{path} is no XML ({error}): give a pages-articles dump") from None
    if not reader.is_dump:
        raise UserError(f"{path} is XML, but no dump of MediaWiki: it has no <mediawiki> at its root")


class _Reader:
    """Listens to expat, and collects pages until they are taken."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.buffer_size = _CHUNK
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.is_dump = False
        self._open: list[str] = []
        self._text: list[str] = []
        self.parser.CharacterDataHandler = self._text.append
        self._fields: dict[str, str] = {}
        self._attributes: dict[str, str] = {}
        self._pages: list[SitePage] = []
        self._names: list[tuple[int, str]] = []
        self._site = Site.of("", "", ())

    def take(self) -> list[SitePage]:
        """Return the pages since the last time."""
        taken, self._pages = self._pages, []
        return taken

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._open.append(name)
        self._text.clear()
        self._attributes = attributes
        if len(self._open) == 1:
            self.is_dump = name == "mediawiki"

    def _end(self, name: str) -> None:
        self._open.pop()
        place = "/".join(self._open)
        if place in {_PAGE, f"{_PAGE}/revision"}:
            key = f"revision {name}" if name == "id" and place != _PAGE else name
            self._fields[key] = "".join(self._text)  # an element without text is empty: `<text bytes="0" />`
        elif place == f"{_SITE}/namespaces":
            self._names.append((int(self._attributes["key"]), "".join(self._text)))
        elif place == _SITE:
            self._fields[name] = "".join(self._text)
        elif name == "siteinfo":
            self._site = Site.of(self._fields.get("dbname", ""), self._fields.get("base", ""), self._names)
            self._fields = {}
        elif name == "page" and place == "mediawiki":
            self._pages.append((self._site, self._page()))
            self._fields = {}
        self._text.clear()

    def _page(self) -> Page:
        fields = self._fields
        title = fields.get("title", "")
        return Page(
            fields.get("id", ""),
            title,
            int(fields["ns"]) if fields.get("ns", "").isdecimal() else self._site.namespace(title),
            "redirect" in fields,
            fields.get("model", "wikitext"),
            fields.get("text", ""),
        )
