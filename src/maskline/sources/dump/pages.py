"""The pages of a dump: XML, plain or compressed by bzip2 or gzip, read as a stream.

`<siteinfo>`, which describes the wiki, comes first. Then come the `<page>` elements. Only a few are in memory. The
parser is expat: it detects the encoding (some dumps are UTF-16), and stops at entities that expand without limit.
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
"""Last suffix -> function that opens the file. Compressed files may have several streams one after the other."""
_CHUNK = 1 << 17
_PAGE = "mediawiki/page"
_SITE = "mediawiki/siteinfo"


class Page(NamedTuple):
    """A page, in the last revision that the dump has of it."""

    id: str
    title: str
    namespace: int
    redirect: bool
    """Whether the dump marks the page as a redirect."""
    model: str
    """The content model: `wikitext`, or another format."""
    text: str


SitePage = tuple[Site, Page]
"""A page, and the wiki that it belongs to."""


def read_pages(path: Path) -> Iterator[SitePage]:
    """Yield the pages of one file in their order, each with its wiki.

    Raises:
        UserError: the file is not a MediaWiki dump, or ends before its closing tag.
    """
    reader = _Reader()
    read = False
    try:
        with OPENERS[path.suffix](path) as file:
            while chunk := file.read(_CHUNK):
                reader.parser.Parse(chunk)
                yield from reader.take()
            read = True
            reader.parser.Parse(b"", True)  # tells expat that the file ends
            yield from reader.take()
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(f"{path} cannot be read to its end ({error}): download it again") from None
    except expat.ExpatError as error:
        if read:
            raise UserError(f"{path} ends before its closing tag: download it again") from None
        raise UserError(f"{path} is not valid XML ({error}): give a pages-articles dump") from None
    if not reader.is_dump:
        raise UserError(f"{path} is XML, but not a dump of MediaWiki: its root element is not <mediawiki>")


class _Reader:
    """Handlers for expat that collect the pages until `take` returns them."""

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
        """Return the pages that were read since the last call."""
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
