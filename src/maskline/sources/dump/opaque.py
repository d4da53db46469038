"""Comments, and the elements whose content MediaWiki does not read as wikitext."""

import re

from maskline.sources.dump.marks import BLOCK, HOLE, UNCLOSED, between

_SHOWN = ("math", "chem", "ce", "hiero", "score", "syntaxhighlight", "source", "pre", "nowiki")
_HIDDEN = (
    *("ref", "references", "gallery", "timeline", "graph", "chart", "mapframe", "maplink", "imagemap", "inputbox"),
    *("templatedata", "templatestyles", "categorytree", "section", "indicator", "includeonly", "charinsert"),
)
_OPAQUE = re.compile(rf"<!--|<(/?)({'|'.join(_SHOWN + _HIDDEN)})\b([^<>]*)>", re.IGNORECASE)
_MARK = re.compile(r"[\[\]{}|<>'*#:;=_~\\^!-]")
_MOLECULE = re.compile(r"[A-Z][A-Za-z0-9()]*")
_BLOCKS = ("syntaxhighlight", "source", "pre")
"""Those that stand between paragraphs."""
_POINTS = ".,;،؛۔।。，、；"
_INLINE = re.compile(r"\binline\b", re.IGNORECASE)
_NAMED = re.compile(r"\bname\s*=", re.IGNORECASE)
_FORMULA = re.compile(r"[^\W_]|[\w\s+\-=(),.*/!%:;°′'≤≥≈≠±×·∞∈∪∩→]*")


def without_opaque(text: str) -> str:
    """Return `text` without comments and without the elements whose content MediaWiki does not read as wikitext.

    What an element shows stays: a formula that is plain text, and the characters in `<nowiki>`, as entities. Of two
    equal points that a note separates one stays. What follows a note that is never closed is `UNCLOSED`.
    """
    tokens = list(_OPAQUE.finditer(text))
    if not tokens:
        return text
    last = {token[2].lower(): token.start() for token in tokens if token[1]}
    pieces, at, closing, is_inline = [], 0, "", False
    for token in tokens:
        if token.start() < at:
            continue
        if closing:
            if token[1] and token[2].lower() == closing:
                shown = _shown(closing, text[at : token.start()])
                pieces.append(BLOCK if shown == HOLE and closing in _BLOCKS and not is_inline else shown)
                at, closing = _after(text, token.end(), pieces, closing), ""
            continue
        pieces.append(text[at : token.start()])
        at = token.end()
        if token[0] == "<!--":
            end = text.find("-->", at)
            at = len(text) if end < 0 else _after(text, end + 3, pieces)
        elif token[1] or token[3].endswith("/"):
            at = _after(text, at, pieces, token[2].lower())
        elif last.get(name := token[2].lower(), -1) > token.start():
            closing, is_inline = name, _INLINE.search(token[3]) is not None
        elif name == "ref" and not _NAMED.search(token[3]):  # one with a name lacks its slash more often than its end
            pieces.append(UNCLOSED)
    pieces.append(text[at:])
    return "".join(pieces)


def _after(text: str, at: int, pieces: list[str], name: str = "") -> int:
    """Return where the text goes on after an element that ends at `at`: behind a point that stands before it too.

    A note that parts two sentences leaves a space; a comment and `<nowiki/>` part nothing.
    """
    point = text[at : at + 1]
    before = next((piece[-2:] for piece in reversed(pieces) if piece), "")
    if not point or point not in _POINTS:
        pieces.append(between(before, point) if name in _HIDDEN else "")
        return at
    return at + 1 if before[-1:] == point and before != 2 * point and text[at + 1 : at + 2] != point else at


def _shown(name: str, content: str) -> str:
    """Return what an opaque element shows in a sentence; `HOLE` if it shows no text."""
    if name in _HIDDEN:
        return "\n\n" if name == "gallery" else ""
    if name == "nowiki":
        return _MARK.sub(lambda mark: f"&#{ord(mark[0])};", content)
    if name in {"chem", "ce"} and _MOLECULE.fullmatch(content := content.strip()):
        return content
    if name == "math" and _FORMULA.fullmatch(content := content.strip()):
        return content
    return HOLE
