"""The pages of a dump: XML, plain or compressed by bzip2 or gzip, read as a stream.

`<siteinfo>`, which describes the wiki, comes first. Then come the `<page>` elements. Only a few are in memory. The
parser is expat: it detects the encoding (some dumps are UTF-16), and stops at entities that expand without limit.
"""

import bz2
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast
from xml.parsers import expat

from maskline.core.errors import UserError
from maskline.sources.dump.bzip2 import decompressed
from maskline.sources.dump.siteinfo import Site

OPENERS: dict[str, Callable[[Path], BinaryIO]] = {
    ".xml": lambda path: path.open("rb"),
    ".bz2": lambda path: cast("BinaryIO", bz2.open(path)),  # noqa: SIM115
    ".gz": lambda path: cast("BinaryIO", gzip.open(path)),  # noqa: SIM115
}
"""Last suffix -> function that opens the file. Compressed files may have several streams one after the other."""
MAX_CHARACTERS = 1_500_000
"""Longer pages are dropped: they are lists, or not articles. MediaWiki's own limit is 2 MiB."""
LONGEST_FIELD = 1 << 16
"""Most characters of an element other than a page's text, such as its title."""
LONGEST_TAG = 1 << 20
"""Most bytes of a tag or comment, which the parser holds in memory until it ends."""
MOST_NAMESPACES = 10_000
DEEPEST = 100
"""Most elements inside each other; a dump has six."""

_CHUNK = 1 << 17
_NUMBER = re.compile(r"-?\d{1,9}", re.ASCII)
_NAMESPACE = re.compile(r"\d{1,9}", re.ASCII)
_PAGE = "mediawiki/page"
_REVISION = f"{_PAGE}/revision"
_SITE = "mediawiki/siteinfo"
_NAMESPACES = f"{_SITE}/namespaces"
_TEXT = "text"
_FIELDS = {
    _PAGE: {"id", "title", "ns", "redirect"},
    _REVISION: {"timestamp", "model", _TEXT},
    _SITE: {"dbname", "base"},
}
"""Place of an element -> those in it that are read."""


class Page(NamedTuple):
    """A page, in the newest revision that the dump has of it."""

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


def read_pages(path: Path, threads: int = 1) -> Iterator[SitePage]:
    """Yield the pages of one file in their order, each with its wiki.

    Where a file has several revisions of a page, in one element or in several in a row, the newest by its timestamp is
    the page; of revisions without one, the last. Of a text of more than MAX_CHARACTERS only the beginning is read, one
    character more than these.

    Files of bzip2 are decompressed by so many `threads`.

    Raises:
        UserError: the file is not a MediaWiki dump, ends before its closing tag, or holds what no dump does.
    """
    reader = _Reader(path)
    read = False
    fed = 0
    try:
        for chunk in _chunks(path, threads):
            reader.parser.Parse(chunk)
            fed += len(chunk)
            if fed - reader.parser.CurrentByteIndex > LONGEST_TAG:
                raise UserError(f"{path} has a tag of more than {LONGEST_TAG:,} bytes: {_NO_DUMP}")
            yield from reader.take()
        read = True
        reader.parser.Parse(b"", True)  # tells expat that the file ends
        yield from reader.take(last=True)
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(f"{path} cannot be read to its end ({error}): download it again") from None
    except expat.ExpatError as error:
        if read:
            raise UserError(f"{path} ends before its closing tag: download it again") from None
        raise UserError(f"{path} is not valid XML ({error}): give a pages-articles dump") from None
    if not reader.is_dump:
        raise UserError(f"{path} is XML, but not a dump of MediaWiki: its root element is not <mediawiki>")


def _chunks(path: Path, threads: int) -> Iterator[bytes]:
    if path.suffix == ".bz2" and threads > 1:
        for block in decompressed(path, threads):
            yield from (block[start : start + _CHUNK] for start in range(0, len(block), _CHUNK))
        return
    with OPENERS[path.suffix](path) as file:
        while chunk := file.read(_CHUNK):
            yield chunk


_NO_DUMP = "give a pages-articles dump"


class _Reader:
    """Handlers for expat that collect the pages until `take` returns them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.buffer_size = _CHUNK
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.is_dump = False
        self._open: list[str] = []
        self._text: list[str] = []
        self._room: int | None = None
        """Characters that the open element may still have; None: it is not read."""
        self.parser.CharacterDataHandler = self._add
        self._fields: dict[str, str] = {}
        self._attributes: dict[str, str] = {}
        self._revision: dict[str, str] = {}
        """The newest revision of the open page."""
        self._pages: list[SitePage] = []
        self._newest = ""
        """The timestamp of the last of these pages."""
        self._names: list[tuple[int, str]] = []
        self._site = Site.of("", "", ())

    def take(self, *, last: bool = False) -> list[SitePage]:
        """Return the pages that were read since the last call, but the newest one, unless it is the `last`."""
        kept = [] if last else self._pages[-1:]  # another revision of it may follow
        taken, self._pages = self._pages[: len(self._pages) - len(kept)], kept
        return taken

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._open.append(name)
        if len(self._open) > DEEPEST:
            raise UserError(f"{self._path} has more than {DEEPEST} elements inside each other: {_NO_DUMP}")
        self._text.clear()
        place = "/".join(self._open[:-1])
        if name in _FIELDS.get(place, ()) or place == _NAMESPACES:
            self._room = MAX_CHARACTERS + 1 if name == _TEXT else LONGEST_FIELD
        self._attributes = attributes
        if len(self._open) == 1:
            self.is_dump = name == "mediawiki"

    def _add(self, text: str) -> None:
        if self._room is None:
            return
        if len(text) > self._room and self._open[-1] != _TEXT:
            raise UserError(
                f"{self._path} has more than {LONGEST_FIELD:,} characters in <{self._open[-1]}>: {_NO_DUMP}"
            )
        self._text.append(text[: self._room])
        self._room = max(0, self._room - len(text))

    def _end(self, name: str) -> None:
        self._open.pop()
        self._room = None
        place = "/".join(self._open)
        if name in _FIELDS.get(place, ()):
            self._fields[name] = "".join(self._text)  # an element without text is empty: `<text bytes="0" />`
        elif place == _NAMESPACES:
            if len(self._names) == MOST_NAMESPACES:
                raise UserError(f"{self._path} has more than {MOST_NAMESPACES:,} namespaces: {_NO_DUMP}")
            key = self._attributes.get("key", "")
            if not _NUMBER.fullmatch(key):
                raise UserError(f"{self._path} has a namespace without a number: {_NO_DUMP}")
            self._names.append((int(key), "".join(self._text)))
        elif name == "siteinfo":
            self._site = Site.of(self._fields.get("dbname", ""), self._fields.get("base", ""), self._names)
            self._fields = {}
        elif name == "revision" and place == _PAGE:
            if self._fields.get("timestamp", "") >= self._revision.get("timestamp", ""):
                self._revision = {key: self._fields.get(key, "") for key in ("timestamp", "model", _TEXT)}
            for key in self._revision:
                self._fields.pop(key, None)
        elif name == "page" and place == "mediawiki":
            self._add_page()
            self._fields, self._revision = {}, {}
        self._text.clear()

    def _add_page(self) -> None:
        page = self._page()
        timestamp = self._revision.get("timestamp", "")
        if self._pages and page.id and (page.id, page.title) == self._pages[-1][1][:2]:
            if timestamp >= self._newest:
                self._pages[-1], self._newest = (self._site, page), timestamp
            return
        self._pages.append((self._site, page))
        self._newest = timestamp

    def _page(self) -> Page:
        fields = self._fields | self._revision
        title = fields.get("title", "")
        return Page(
            fields.get("id", ""),
            title,
            int(fields["ns"]) if _NAMESPACE.fullmatch(fields.get("ns", "")) else self._site.namespace(title),
            "redirect" in fields,
            fields.get("model") or "wikitext",
            fields.get("text", ""),
        )
