"""The markup within a line: links to elsewhere, quotes, tags and entities."""

import html
import re

from maskline.sources.dump.aliases import TAGS, words
from maskline.sources.dump.marks import HOLE, UNKNOWN
from maskline.sources.dump.measures import raised
from maskline.sources.dump.variants import converted

_EXTERNAL = re.compile(
    r"\[(?:https?:|ftp:|mailto:|irc:|news:)?//[^\s\[\]<>]*(?:\s+([^\[\]\n]*))?\]|\[mailto:[^\s\[\]]*\s*([^\[\]\n]*)\]"
)
_NOTED = re.compile(r"\s*(?:$|[.;!?…。！？।۔\n])")
_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9])(?:https?|ftp)://[^\s\[\]<>\"|»”،؛。、，；：（）「」]*[^\s\[\]<>\"|»”،؛。、，；：（）「」.,;:!?]",
    re.IGNORECASE,
)
"""An address, without the point of the sentence behind it."""
_BEFORE_BOLD = re.compile(rf"^(?:[ \t]*{UNKNOWN})+[ \t]*(?=''')", re.MULTILINE)
"""Unknown templates before the bold title that begins an article: boxes and notes about the page."""
_BOLD_LINE = re.compile(r"\n'''(?=[^'\n]{1,60}'''[ \t]*\n)")
"""The beginning of a line that is bold as a whole: a heading, as `;` makes one."""
_QUOTES = re.compile(r"''+")
_SUPERSCRIPT = re.compile(r"<sup\b[^<>]*>([^<>]{1,8})</sup\s*>", re.IGNORECASE)
_HIDDEN = re.compile(r"<(span|div)\b[^<>]*display:\s*none[^<>]*>[^<>]*</\1\s*>", re.IGNORECASE)
_RUBY = re.compile(r"<r[tp]\b[^<>]*>[^<>]*(?:</r[tp]\s*>)?", re.IGNORECASE)
_BREAK = re.compile(
    r"</?(?:br|p|div|li|ul|ol|dl|dt|dd|blockquote|center|hr|h[1-6]|tr|td|th|poem|table)\b[^<>]*>", re.IGNORECASE
)
_TAG = re.compile(rf"</?(?:{'|'.join(words(TAGS))})(?:[\s/][^<>]*)?>", re.IGNORECASE)
_BEHAVIOUR_SWITCH = re.compile(r"__[^\W_]+(?:_[^\W_]+)*__")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_FOOTNOTE = re.compile(r"\[(?<=[.,;:!?،؛؟۔।。，、；：！？]\[)\d{1,3}\]")
"""The number of a footnote that was copied with a text."""


def without_inline(text: str, variants: tuple[str, ...]) -> str:
    """Return `text` without inline markup, and with entities replaced by their characters."""
    if UNKNOWN in text:
        text = _BEFORE_BOLD.sub("", text)
    text = _EXTERNAL.sub(_external, text)
    if "://" in text:
        text = _ADDRESS.sub(HOLE, text)
    text = _FOOTNOTE.sub("", text)
    text = _BOLD_LINE.sub("\n;", text)
    text = "\n".join(map(_without_quotes, text.split("\n"))) if "'''" in text else text.replace("''", "")
    text = without_tags(converted(text, variants))
    if "&" in text:  # what they write is text, also where it looks like a tag
        text = _entities(_entities(text))
    return _BEHAVIOUR_SWITCH.sub("", text).replace("-->", "")


def _external(link: re.Match[str]) -> str:
    """Return the label of a link to elsewhere; one without any is a number, of a note at the end of a sentence."""
    label = (link[1] or link[2] or "").strip()
    return label or ("" if _NOTED.match(link.string, link.end()) else UNKNOWN)


def _without_quotes(line: str) -> str:
    """Return a line without the marks of italic and bold, of which MediaWiki takes some for apostrophes.

    Of four or six one is text. Where both bold and italic would stay open, three are one and the mark of italic: those
    behind a word of one letter, else behind a longer word, else behind a space ("L'''Iliade'' est").
    """
    runs = [(run.start(), run.end() - run.start()) for run in _QUOTES.finditer(line)]
    bold = [start for start, size in runs if size in {3, 4}]
    both = sum(size > 4 for _, size in runs)
    italic = len(runs) - len(bold) - both
    apostrophe = -1
    if bold and (len(bold) + both) % 2 and (italic + both) % 2:
        apostrophe = min(bold, key=lambda start: (line[start - 1 : start] == " ", line[start - 2 : start - 1] != " "))
    return _QUOTES.sub(lambda run: "'" * ((len(run[0]) in {4, 6}) + (run.start() == apostrophe)), line)


def without_tags(text: str) -> str:
    """Return `text` without the tags of HTML and MediaWiki; those between paragraphs leave a blank line."""
    if "<" not in text:
        return text
    text = _SUPERSCRIPT.sub(_raised, _HIDDEN.sub("", _RUBY.sub("", text)))
    return _TAG.sub("", _BREAK.sub("\n\n", text))


def _raised(tag: re.Match[str]) -> str:
    """Return digits and signs as superscript characters, so that 10<sup>6</sup> does not become 106."""
    shown = raised(tag[1].strip())
    return tag[1] if set(shown) & set(tag[1].strip()) else shown


def _entities(text: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
