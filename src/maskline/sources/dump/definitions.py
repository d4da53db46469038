"""The pages of a wiki's templates: what a template shows is written there.

A page is kept as what it includes elsewhere, in little memory: a short text, the mark of a box, or the name of another
template. Longer text and code are not: what they show stays unknown.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from maskline.sources.dump.siteinfo import Site

LONGEST_BODY = 2_000
"""Most characters of a template whose text is kept."""
MOST_CHARACTERS = 48_000_000
"""Most characters of all names and texts that are kept of the templates of one wiki; an entry counts 100 more."""
DEEPEST = 20
"""Most braces inside each other in a template that is read."""
BOX = "\ue010"
"""Stands for the text of a template that is a box, a table or navigation: none of it is prose."""
DISAMBIGUATION = "__DISAMBIG__"

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ONLY = re.compile(r"<onlyinclude\s*>(.*?)(?:</onlyinclude\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_NOT_INCLUDED = re.compile(r"<noinclude\s*>.*?(?:</noinclude\s*>|\Z)|</?includeonly\s*/?>", re.DOTALL | re.IGNORECASE)
_EMPTY = re.compile(r"<(?:noinclude|onlyinclude)\s*/>|</(?:noinclude|onlyinclude)\s*>", re.IGNORECASE)
_BLOCK = re.compile(
    r"(?<!\{)\{\||<table\b|\b(?:info|nav|amb|asb|omb|tmb|side)box\b|<references\b|<gallery\b", re.IGNORECASE
)
_TARGET = re.compile(r"\[\[\s*:?\s*([^\[\]|#\n]{1,300})")
_BRACES = re.compile(r"\{\{+|\}\}+")
_MARKS = re.compile(r"\[\[|\]\]|\|")


class Parameter(NamedTuple):
    """`{{{name|default}}}` in the text of a template."""

    name: "Text"
    default: "Text | None"


class Call(NamedTuple):
    """`{{name|argument|…}}` in the text of a template."""

    name: "Text"
    arguments: "tuple[Text, ...]"


Text = tuple[str | Parameter | Call, ...]
"""The text of a template: characters, parameters and calls in their order."""


class Definitions:
    """The templates of one wiki."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}
        self._redirects: dict[str, str] = {}
        self._room = MOST_CHARACTERS
        self.read = 0
        """Pages of templates that were read."""
        self.left_out = 0
        """Those of them for which there was no room."""

    def __len__(self) -> int:
        return len(self._bodies) + len(self._redirects)

    def add(self, site: Site, title: str, text: str, redirect: bool) -> None:
        """Add a page of the namespace of templates."""
        self.read += 1
        name = key(title.partition(":")[2])
        target = _TARGET.search(text) if redirect else None
        kept = key(_without_namespace(target[1], site)) if target else _body(text)
        if kept is None:
            return
        self._room -= len(name) + len(kept) + 100
        if self._room < 0:
            self.left_out += 1
        elif target:
            self._redirects[name] = kept
        else:
            self._bodies[name] = kept

    def body(self, name: str) -> str | None:
        """Return what the template `name` includes; None if that is not known. Redirects are followed."""
        return self._bodies.get(key(self.target(name)))

    def target(self, name: str) -> str:
        """Return the name of the template that `name` leads to by redirects, or `name`."""
        for _ in range(5):  # MediaWiki follows one; a circle ends
            if (known := key(name)) not in self._redirects:
                break
            name = self._redirects[known]
        return name


NO_DEFINITIONS = Definitions()


def key(name: str) -> str:
    """Return the name of a template as its page has it: spaces single, the first letter a capital."""
    name = " ".join(name.replace("_", " ").split())
    return name[:1].upper() + name[1:]


def _without_namespace(title: str, site: Site) -> str:
    prefix, colon, name = title.partition(":")
    return name if colon and site.is_template(prefix) else title


def _body(text: str) -> str | None:
    """Return what a template includes elsewhere; `BOX` if that is a box, None if it is too long to be read."""
    text = _COMMENT.sub("", text)
    if "<onlyinclude" in (lower := text.lower()):
        text = "".join(_ONLY.findall(text))
    if "include" in lower:
        text = _EMPTY.sub("", _NOT_INCLUDED.sub("", text))
    text = text.strip("\n")
    if DISAMBIGUATION.lower() in lower:
        return DISAMBIGUATION
    if _BLOCK.search(text):
        return BOX
    return text if len(text) <= LONGEST_BODY else None


@lru_cache(maxsize=4096)
def parse(body: str) -> Text | None:
    """Return the text of a template; None if its braces do not match or are too deep."""
    out: list[str | Parameter | Call] = []
    open_: list[list[int]] = []  # for each run of braces: where it begins in `out`, and how many of them are open
    at = 0
    for token in _BRACES.finditer(body):
        out.append(body[at : token.start()])
        at, size = token.end(), len(token[0])
        if token[0][0] == "{":
            open_.append([len(out), size])
            if len(open_) > DEEPEST:
                return None
            continue
        while size > 1 and open_:
            start, braces = open_[-1]
            width = 3 if size > 2 and braces > 2 else 2
            parts = _split(out[start:])
            del out[start:]
            out.append(
                Parameter(parts[0], parts[1] if len(parts) > 1 else None) if width == 3 else Call(parts[0], parts[1:])
            )
            size -= width
            if braces - width > 1:
                open_[-1][1] -= width
            else:
                if braces > width:
                    out.insert(start, "{")
                open_.pop()
        if size:
            out.append("}" * size)
    return None if open_ else (*out, body[at:])


def _split(pieces: list[str | Parameter | Call]) -> tuple[Text, ...]:
    """Return the parts of a parameter or call; a bar inside a link does not separate them."""
    parts: list[list[str | Parameter | Call]] = [[]]
    depth = 0
    for piece in pieces:
        if not isinstance(piece, str):
            parts[-1].append(piece)
            continue
        at = 0
        for mark in _MARKS.finditer(piece):
            if mark[0] != "|":
                depth = max(0, depth + (1 if mark[0] == "[[" else -1))
            elif not depth:
                parts[-1].append(piece[at : mark.start()])
                parts.append([])
                at = mark.end()
        parts[-1].append(piece[at:])
    return tuple(map(tuple, parts))
