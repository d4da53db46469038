"""Repair of paragraphs from which markup was removed.

`HOLE` marks where something was removed. A hole after a word or a sentence is closed (it was a note), and so is a hole
before the first word. In a bracket, the part with the hole is removed: "(Greek: [hole]; 14 March 1879)" becomes
"(14 March 1879)". Any other hole is a missing word: it stays, and the caller drops the sentence.
"""

import re

from maskline.sources.dump.templates import GLOSS, HOLE

BRACKETS = 3
"""Levels of nested brackets that are repaired."""
_GAP = re.compile(f"[{HOLE}{GLOSS}]")
_RUN = re.compile(f"([{HOLE}{GLOSS}])(?: ?[{HOLE}{GLOSS}])+")
_LEADING = re.compile(rf"^(?:[{HOLE}{GLOSS}][\s,.;:،؛]*)+")
_NOTE = re.compile(rf"(?<=[^\s(\[{{（«“‘\"'$€£¥₹/=+<>~≈–—-]){HOLE}")
_AFTER_SENTENCE = re.compile(rf"([.!?…؟۔。！？।][\"'”’»)\]」』]*) {HOLE}(?= [^a-zà-ÿа-я]|$)|(?<=[:—–]) {HOLE}$")
_BRACKET = re.compile(r"\s?[(（]([^()（）]*)[)）]")
_STRONG, _WEAK = re.compile(r"([;؛；])"), re.compile(r"([,،、，])")
_OPENED = re.compile(r"([(（])[\s,;:،؛]+")
_CLOSED = re.compile(r"(?<![\s,;:،؛])[\s,;:،؛]+([)）])")
_EMPTY = re.compile(r"(?:(?<=\s)|(?<=^)|(?<=[.,;:»”،؛]))[(（]\s*[)）]\s?|\[\s*\]|\s?«\s*»|\s?“\s*”|(?<=\s)\"\"(?=\s)")
_COMMAS = re.compile(r"([,،؛;])(?:\s*[,،])+(?!\w)")
_BEFORE = re.compile(r"\s+([,.،؛)\]）](?!\d))")
_SIGNS = (
    *("( ", "(,", "(;", "(:", "(،", "(؛", "()", " )", ",)", ";)", ":)", "،)", "؛)", "[]", "[ ]", " ]"),
    *("（ ", "（,", "（;", "（:", "（،", "（؛", "（）", "（)", "(）", " ）", ",）", ";）", ":）", "،）", "؛）"),
    *(",,", ", ,", "; ,", ";,", "،،", "، ،", ",،", ", ،", ";،", "; ،", "؛,", "؛ ,", "؛،", "؛ ،", "،,", "، ,"),
    *(" ,", " .", " ،", " ؛", "«»", "« »", "“”", "“ ”", '""'),
)
"""Every match of the last five patterns contains one of these. A search for them takes a tenth of the time."""


def repair(text: str) -> tuple[str, bool]:
    """Return a paragraph with its holes closed where possible and single spaces, and whether it was repaired."""
    text = " ".join(text.split())
    repaired = False
    if _GAP.search(text):
        text = _AFTER_SENTENCE.sub(r"\1", _NOTE.sub("", _LEADING.sub("", _RUN.sub(r"\1", text))))
        for _ in range(BRACKETS):
            text = _BRACKET.sub(_without_incomplete_parts, text)
        text = text.replace(GLOSS, "").replace("  ", " ").strip()
        repaired = True
    if any(sign in text for sign in _SIGNS):
        tidy = _BEFORE.sub(r"\1", _COMMAS.sub(r"\1", _EMPTY.sub("", _CLOSED.sub(r"\1", _OPENED.sub(r"\1", text)))))
        repaired |= tidy != text
        text = " ".join(tidy.split())
    return text, repaired


def _without_incomplete_parts(bracket: re.Match[str]) -> str:
    """Return a bracket without its parts that have a hole; "" if no part is left."""
    content = bracket[1]
    if not _GAP.search(content):
        return bracket[0]
    parts = (_STRONG if _STRONG.search(content) else _WEAK).split(content)
    kept = [
        (parts[i], parts[i + 1] if i + 1 < len(parts) else "")
        for i in range(0, len(parts), 2)
        if not _GAP.search(parts[i])
    ]
    inner = "".join(part + separator for part, separator in kept).strip(" ,;:،؛；、，")
    if not inner:
        return ""
    opening = bracket[0][: bracket[0].index(content)]
    return f"{opening}{inner}{bracket[0][-1]}"
