"""Comments, and the elements whose content MediaWiki does not read as wikitext."""

import re

from maskline.sources.dump.marks import HOLE

_SHOWN = ("math", "chem", "ce", "hiero", "score", "syntaxhighlight", "source", "pre", "nowiki")
_HIDDEN = (
    *("ref", "references", "gallery", "timeline", "graph", "chart", "mapframe", "maplink", "imagemap", "inputbox"),
    *("templatedata", "templatestyles", "categorytree", "section", "indicator", "includeonly", "charinsert"),
)
_OPAQUE = re.compile(rf"<!--|<(/?)({'|'.join(_SHOWN + _HIDDEN)})\b([^<>]*)>", re.IGNORECASE)
_MARK = re.compile(r"[\[\]{}|<>'*#:;=_~\\^!-]")
_MOLECULE = re.compile(r"[A-Z][A-Za-z0-9()]*")
_FORMULA = re.compile(r"[^\W_]|[\w\s+\-=(),.*/!%:;°′'≤≥≈≠±×·∞∈∪∩→]*")


def without_opaque(text: str) -> str:
    """Return `text` without comments and without the elements whose content MediaWiki does not read as wikitext.

    What an element shows stays: a formula that is plain text, and the characters in `<nowiki>`, as entities.
    """
    tokens = list(_OPAQUE.finditer(text))
    if not tokens:
        return text
    last = {token[2].lower(): token.start() for token in tokens if token[1]}
    pieces, at, closing = [], 0, ""
    for token in tokens:
        if token.start() < at:
            continue
        if closing:
            if token[1] and token[2].lower() == closing:
                pieces.append(_shown(closing, text[at : token.start()]))
                at, closing = token.end(), ""
            continue
        pieces.append(text[at : token.start()])
        at = token.end()
        if token[0] == "<!--":
            end = text.find("-->", at)
            at = len(text) if end < 0 else end + 3
        elif not (token[1] or token[3].endswith("/")) and last.get(token[2].lower(), -1) > token.start():
            closing = token[2].lower()
    pieces.append(text[at:])
    return "".join(pieces)


def _shown(name: str, content: str) -> str:
    """Return what an opaque element shows in a sentence; `HOLE` if it shows no text."""
    if name in _HIDDEN:
        return ""
    if name == "nowiki":
        return _MARK.sub(lambda mark: f"&#{ord(mark[0])};", content)
    if name in {"chem", "ce"} and _MOLECULE.fullmatch(content := content.strip()):
        return content
    if name == "math" and _FORMULA.fullmatch(content := content.strip()):
        return content
    return HOLE
