"""The templates that are rendered: those that contain words of the sentence around them.

All other templates are left out. Most are infoboxes and navigation, which are not prose. Where one would add text to a
sentence, that text is not in the page: a `HOLE` marks the place, and `repair` decides what happens to it.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from maskline.sources.dump.aliases import (
    CITATION_PREFIXES,
    CITATIONS,
    CONVERT,
    DISAMBIGUATION,
    FORMATNUM,
    LANGUAGE,
    QUOTE,
    SHOWN,
    words,
)
from maskline.sources.dump.siteinfo import fold

HOLE = "\ue000"
"""Marks where something was left out that the sentence may need."""
GLOSS = "\ue002"
"""Marks where something was left out that only a bracket around it needs, such as a pronunciation."""


class Arguments(NamedTuple):
    """The arguments of a template."""

    positional: list[str]
    named: dict[str, str]

    def at(self, number: int) -> str:
        """Return the positional argument `number`, counted from 1; "" if there is none."""
        return self.named.get(str(number)) or (self.positional[number - 1] if number <= len(self.positional) else "")


Renderer = Callable[[Arguments], str]

_TOKEN = re.compile(r"\[\[|\]\]|\|")
_NAMED = re.compile(r"\s*([\w \-]{1,40}?)\s*=(.*)", re.DOTALL)


def render(name: str, content: str) -> str:
    """Return the text that a template shows.

    Args:
        name: the folded name; for a parser function, with the colon and the text after it.
        content: the arguments, with the templates in them already rendered.

    Returns:
        Wikitext; "" if a sentence is complete without it; `HOLE` or `GLOSS` if the text is not known.
    """
    renderer = _RENDERERS.get(name) or next((_FAMILIES[start] for start in _FAMILIES if name.startswith(start)), None)
    if renderer:
        return renderer(split_arguments(content)) or HOLE
    function, colon, first = name.partition(":")
    if colon and function in _FUNCTIONS:
        return first.strip() or HOLE
    return "" if name in _SILENT or name.startswith(CITATION_PREFIXES) else HOLE


def split_arguments(content: str) -> Arguments:
    """Return the arguments in the text after the name of a template; a bar inside a link does not separate them."""
    positional, named = [], {}
    for part in _split(content) if "[[" in content else content.split("|"):
        if "=" in part and (key := _NAMED.fullmatch(part)):
            named[key[1].casefold()] = key[2].strip()
        else:
            positional.append(part.strip())
    return Arguments(positional, named)


def _split(content: str) -> list[str]:
    parts, start, depth = [], 0, 0
    for token in _TOKEN.finditer(content):
        if token[0] != "|":
            depth = max(0, depth + (1 if token[0] == "[[" else -1))
        elif not depth:
            parts.append(content[start : token.start()])
            start = token.end()
    return [*parts, content[start:]]


def _first(arguments: Arguments) -> str:
    return arguments.at(1)


def _second(arguments: Arguments) -> str:
    return arguments.at(2)


def _joined(separator: str) -> Renderer:
    return lambda arguments: separator.join(filter(None, arguments.positional))


def _always(text: str) -> Renderer:
    return lambda _: text


def _prefixed(prefix: str) -> Renderer:
    return lambda arguments: arguments.at(1) and f"{prefix}{arguments.at(1)}"


def _quote(arguments: Arguments) -> str:
    """Return a quotation as a paragraph of its own."""
    named = (arguments.named.get(key) for key in ("text", "quote", "content", "نص", "اقتباس"))
    text = next(filter(None, named), arguments.at(1))
    return text and f"\n\n{text}\n\n"


_BETWEEN = {
    "-": "–",
    "to": " to ",
    "to(-)": "–",
    "and": " and ",
    "and(-)": " and ",
    "or": " or ",
    "by": " × ",
    "x": " × ",
}
_BETWEEN |= {"–": "–", "×": " × ", "*": " × ", "+/-": " ± ", "±": " ± ", "إلى": " إلى ", "و": " و ", "до": "–"}
_UNITS = {
    "sqmi": "sq mi",
    "sqft": "sq ft",
    "sqkm": "km²",
    "km2": "km²",
    "m2": "m²",
    "cm2": "cm²",
    "m3": "m³",
    "cm3": "cm³",
}
_UNITS |= {"km3": "km³", "cuft": "cu ft", "c": "°C", "f": "°F", "kph": "km/h", "/sqmi": "per sq mi", "/km2": "per km²"}
_MIXED = {"ft", "lb", "st", "mi", "yd"}
"""Units that a smaller one may follow: 5 ft 11 in."""


def _convert(arguments: Arguments) -> str:
    """Return a measure in its original unit: "40 km", "10 to 20 km", "5 ft 11 in"."""
    given = [text for text in arguments.positional if text]
    if not given or not any(character.isdigit() for character in given[0]):
        return ""
    number, rest = given[0], given[1:]
    while len(rest) > 1 and rest[0] in _BETWEEN:
        number, rest = f"{number}{_BETWEEN[rest[0]]}{rest[1]}", rest[2:]
    unit = rest[0] if rest else ""
    if unit in _MIXED and len(rest) > 2 and rest[1][:1].isdigit():
        return " ".join((number, *rest[:3]))
    return f"{number} {_UNITS.get(unit.casefold(), unit)}".rstrip()


def _value(arguments: Arguments) -> str:
    """Return a number with its power of ten and its unit."""
    power = arguments.named.get("e", "")
    unit = arguments.named.get("u") or arguments.named.get("ul") or ""
    return f"{arguments.at(1)}{power and f' × 10^{power}'} {unit}".strip()


def _fraction(arguments: Arguments) -> str:
    *whole, above, below = ["", "1", *filter(None, arguments.positional)][-3:]
    return f"{' '.join(whole)} {above}/{below}".strip() if arguments.at(1) else ""


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _as_of(arguments: Arguments) -> str:
    """Return "As of March 2010"; the template is one of English wikis."""
    year, month, day = (arguments.at(number) for number in (1, 2, 3))
    name = _MONTHS[int(month) - 1] if month.isdecimal() and 1 <= int(month) <= 12 else month
    date = " ".join(filter(None, (day, name, year)))
    return arguments.named.get("alt") or f"{'as' if arguments.named.get('lc') else 'As'} of {date}"


_TABLE: tuple[tuple[str, Renderer], ...] = (
    (SHOWN, _first),
    (LANGUAGE, _second),
    (QUOTE, _quote),
    (CONVERT, _convert),
    (FORMATNUM, _first),
    ("nihongo / nihongo2 / nihongo3", lambda arguments: arguments.at(1) or arguments.at(3) or arguments.at(2)),
    ("as of", _as_of),
    ("val", _value),
    ("frac / fraction / sfrac / كسر", _fraction),
    ("circa / c.", _prefixed("c. ")),
    ("floruit / fl.", _prefixed("fl. ")),
    ("reign", _joined("–")),
    ("gaps / chem / linktext", _joined("")),
    ("hlist / flatlist", _joined(", ")),
    ("qi / inline quote", lambda arguments: arguments.at(1) and f"“{arguments.at(1)}”"),
    ("ship", lambda arguments: arguments.at(2) and f"{arguments.at(1)} {arguments.at(2)}"),
    ("euro / €", _prefixed("€")),
    ("gbp / £", _prefixed("£")),
    ("us$ / usd", _prefixed("US$")),
    ("inr", _prefixed("₹")),
    ("spaced ndash / snd / snds / spnd / – / ndash / dash / sndash", _always(" – ")),
    ("mdash / em dash / spaced mdash / mdashb / —", _always(" — ")),
    ("nbsp / space / spaces / nbs / thinsp / thin space / hair space / hsp / sp", _always(" ")),
    ("· / • / dot / middot / bull / bullet", _always(" · ")),
    ("!", _always("|")),
    ("=", _always("=")),
    ("' / `", _always("'")),
    ("'s", _always("'s")),
    ("pi", _always("π")),
    ("deg / degree", _always("°")),
    ("pbuh / saw / ص / صلى الله عليه وسلم", _always("ﷺ")),
    ("respell / pron-en / audio / audio-ipa / listen / coord / إحداثيات / نطق", _always(GLOSS)),
)
_SHIPS = words("uss / hms / ss / rms / hmas / hmcs / usns / uscgc / hmnzs / sms")
_RENDERERS: dict[str, Renderer] = {fold(name): renderer for names, renderer in _TABLE for name in words(names)}
_RENDERERS |= {name: _prefixed(f"{name.upper()} ") for name in _SHIPS}
"""Folded name -> function that renders the template; "" means that the text is not known."""
_FAMILIES: dict[str, Renderer] = {
    "lang-": _first,
    "لغة-": _first,
    "script/": _first,
    "ipac-": _always(GLOSS),
    "ipa-": _always(GLOSS),
}
"""Prefix of the names of several templates -> function that renders each of them."""
_FUNCTIONS = frozenset(map(fold, (*words(FORMATNUM), "lc", "uc", "lcfirst", "ucfirst", "صغير", "كبير")))
_SILENT = frozenset(map(fold, words(CITATIONS) + words(DISAMBIGUATION)))
