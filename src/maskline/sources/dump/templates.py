"""What the templates of a page show.

Numbers, quotations and names in other scripts are rendered here, since their templates are programs. Of all others the
wiki itself says what they show, in the pages of its templates (`definitions`). Where it does not, the lists of
`aliases` tell notes and templates that show an argument. The rest is unknown: a mark stands for it, and `repair`
decides what happens to its sentence.
"""

import re
from collections.abc import Callable
from functools import partial

from maskline.sources.dump import dates, measures, notations
from maskline.sources.dump.aliases import (
    ACCENT,
    CITATION_PREFIXES,
    CITATIONS,
    CONVERT,
    DISAMBIGUATION,
    FORMATNUM,
    FRACTION,
    GLOSSES,
    HARVARD,
    ICON_PREFIXES,
    LANGUAGE,
    LINK,
    LINK_BY_LANGUAGE,
    LINK_PREFIXES,
    LINK_TEXT_SECOND,
    LINK_TEXT_THIRD,
    LINK_TEXTS,
    PLACES,
    QUOTE,
    QUOTE_TEXTS,
    RECORDINGS,
    ROUND_TEXT,
    SHOWN,
    SILENT_FUNCTIONS,
    VALUE,
    words,
)
from maskline.sources.dump.arguments import Arguments, split, split_arguments
from maskline.sources.dump.definitions import BOX, Definitions
from maskline.sources.dump.expansion import STEPS, Expansion
from maskline.sources.dump.marks import GAPS, GLOSS, HOLE, UNKNOWN
from maskline.sources.dump.siteinfo import Site, fold

MOST_EXPANDED = 2_000_000
"""Most characters that all templates of a page expand to: MediaWiki's own limit, in bytes."""
MOST_STEPS = 150_000
"""Most parameters and calls that are read for all templates of a page: a second or two."""

Renderer = Callable[[Arguments], str]


class Templates:
    """The templates of one page."""

    def __init__(self, site: Site, language: str, definitions: Definitions, title: str) -> None:
        self._site = site
        self._definitions = definitions
        self._title = title
        self._own = _OF_LANGUAGE.get(language.partition("-")[0], {})
        self._room = MOST_EXPANDED
        self._steps = MOST_STEPS

    def render(self, name: str, content: str | None) -> str:
        """Return what a template shows, as wikitext.

        Args:
            name: as it is written; for a parser function, with the colon and the text after it.
            content: the arguments, with the templates in them already rendered; None if there are none.

        Returns:
            "" if a sentence is complete without it; with `HOLE`, `GLOSS` or `UNKNOWN` in it if not all of it is known.
        """
        steps = min(STEPS, self._steps)
        expansion = Expansion(self._definitions, self._title, self._rendered, steps)
        shown = self._of_page(name, content, expansion)
        self._steps -= steps - expansion.steps
        self._room -= len(shown)
        return shown if self._room >= 0 else UNKNOWN

    def _of_page(self, name: str, content: str | None, expansion: Expansion) -> str:
        if name.lstrip().startswith("#"):
            function, _, first = name.partition(":")
            return expansion.of_page(function.strip().casefold(), first.strip(), split(content or ""))
        return self._rendered(name, content, expansion)

    def _rendered(self, name: str, content: str | Arguments | None, expansion: Expansion) -> str:
        prefix, colon, rest = name.partition(":")
        if colon:
            known = self._of_function(fold(prefix), rest, expansion)
            name = rest if self._site.is_template(prefix) else name
        else:
            known = expansion.word(fold(name), None) if not content else None
        return self._of_template(name, content, expansion) if known is None else known

    def _of_template(self, name: str, content: str | Arguments | None, expansion: Expansion) -> str:
        names = (fold(name), fold(self._definitions.target(name)))
        if renderer := _known(self._own, names) or _known(_RENDERERS, names):
            return renderer(_arguments(content)) or HOLE
        if _LISTED.isdisjoint(names):
            if any(known.startswith(CITATION_PREFIXES) for known in names):
                return ""
            if any(known.startswith(HARVARD) for known in names):
                return GLOSS
        body = self._definitions.body(name)
        if body == BOX:
            return ""
        shown = None if body is None else expansion.shown(name, _arguments(content))
        if shown is not None and not any(mark in shown for mark in GAPS):
            return shown
        return _guessed(names, content, shown)

    def _of_function(self, function: str, first: str, expansion: Expansion) -> str | None:
        if function in _FUNCTIONS:
            return (expansion.word(_FUNCTIONS[function], first.strip()) or first.strip()) or HOLE
        return "" if function in _SILENT_FUNCTIONS else None


def _arguments(content: str | Arguments | None) -> Arguments:
    return content if isinstance(content, Arguments) else split_arguments(content)


def _guessed(names: tuple[str, ...], content: str | Arguments | None, shown: str | None) -> str:
    """Return what a template shows of which `shown` is known, by what the templates of these names show elsewhere."""
    if guess := _known(_GUESSES, names) or _of_family(names):
        return guess(_arguments(content)) or HOLE
    if not _ROUND_TEXT.isdisjoint(names):
        return _arguments(content).at(1)
    if not _SILENT.isdisjoint(names) or any(name.startswith(ICON_PREFIXES) for name in names):
        return ""
    if isinstance(content, str) and _OVER_LINES.search(content):
        return ""
    return UNKNOWN if shown is None else shown


def _known(renderers: dict[str, Renderer], names: tuple[str, ...]) -> Renderer | None:
    return next((renderers[name] for name in names if name in renderers), None)


def _of_family(names: tuple[str, ...]) -> Renderer | None:
    return next((_FAMILIES[start] for name in names for start in _FAMILIES if name.startswith(start)), None)


def _first(arguments: Arguments) -> str:
    return arguments.at(1)


def _second(arguments: Arguments) -> str:
    """Return the text after its language or colour, which is never the text."""
    first = arguments.at(1)
    return arguments.at(2) or arguments.first_of(_TEXTS) or ("" if _is_language(first) else first)


def _last(arguments: Arguments) -> str:
    """Return the last of up to three arguments: the text after its language and the scheme of its transliteration."""
    return next(iter(arguments.texts()[2::-1]), "")


def _joined(separator: str) -> Renderer:
    return lambda arguments: separator.join(arguments.texts())


def _each(prefix: str, separator: str) -> Renderer:
    return lambda arguments: separator.join(f"{prefix}{text}" for text in arguments.texts())


def _joined_behind(prefix: str, separator: str) -> Renderer:
    return lambda arguments: arguments.at(1) and prefix + separator.join(arguments.texts())


def _always(text: str) -> Renderer:
    return lambda _: text


def _prefixed(prefix: str) -> Renderer:
    return lambda arguments: arguments.at(1) and f"{prefix}{arguments.at(1)}"


def _quote(arguments: Arguments) -> str:
    """Return a quotation as a paragraph of its own."""
    text = arguments.first_of(_QUOTE_TEXTS) or arguments.at(1)
    return text and f"\n\n{text}\n\n"


def _link(*places: int) -> Renderer:
    """Return a renderer of a link to an article that another wiki has: its text, or the first argument of `places`."""

    def render(arguments: Arguments) -> str:
        if text := arguments.first_of(_LINK_TEXTS):
            return text
        given = [arguments.at(place) for place in places]
        return next((text for text in given if text and not _is_language(text)), "")

    return render


def _is_language(text: str) -> bool:
    return len(text) < 4 and text.isascii() and text.isalpha() and text.islower()


def _renderers(*table: tuple[str, Renderer]) -> dict[str, Renderer]:
    return {fold(name): renderer for names, renderer in table for name in words(names)}


def _numbered(before: str) -> Renderer:
    """Return a renderer of the number of a book or paper."""
    return lambda arguments: notations.gloss(arguments.at(1) and f"{before}{arguments.at(1)}")


_NUMBERS = {"isbn": "ISBN ", "issn": "ISSN ", "oclc": "OCLC ", "lccn": "LCCN ", "pmid": "PMID ", "jstor": "JSTOR "}
_NUMBERS |= {"doi": "doi:", "arxiv": "arXiv:", "bibcode": "Bibcode:", "hdl": "hdl:"}
_MUSIC = dict.fromkeys(("flat", "b"), "♭") | dict.fromkeys(("sharp", "#"), "♯") | {"natural": "♮"}
_QUOTE_TEXTS = words(QUOTE_TEXTS)
_LINK_TEXTS = words(LINK_TEXTS)
_TEXTS = ("text", "texte", "texto", "testo", "текст", "tekst")
_RENDERERS = _renderers(
    (QUOTE, _quote),
    (CONVERT, partial(measures.convert, english=False)),
    (FRACTION, measures.fraction),
    (VALUE, measures.value),
    ("nihongo / nihongo2 / nihongo3", lambda arguments: arguments.at(1) or arguments.at(3) or arguments.at(2)),
    (LINK, _link(1, 2)),
    (LINK_TEXT_SECOND, _link(2, 1)),
    (LINK_TEXT_THIRD, _link(3, 1)),
    (LINK_BY_LANGUAGE, _link(4, 3, 2)),
    ("transl / transliteration / translit", _last),
    (GLOSSES, _always(GLOSS)),
    (RECORDINGS, notations.recording),
    ("ipa", notations.sounds_of),
    ("harvtxt / harvcoltxt / harvard citation text", notations.authors),
    ("harvs", _always(HOLE)),
    (PLACES, notations.place),
    ("ipa-all", notations.sounds),
    ("respell", notations.syllables),
    *((name, _numbered(shown)) for name, shown in _NUMBERS.items()),
)
"""Folded name -> function that renders the template, whatever its page says; "" means that the text is not known."""
_OF_LANGUAGE = {
    "en": _renderers((CONVERT, partial(measures.convert, english=True)), ("as of", dates.as_of), ("sp", _always(" "))),
    "fr": _renderers(
        ("s / s-", lambda arguments: arguments.at(1) and f"{arguments.at(1)}{arguments.at(2) or 'e'} siècle"),
        (
            "-s / -s-",
            lambda arguments: arguments.at(1) and f"{arguments.at(1)}{arguments.at(2) or 'e'} siècle av. J.-C.",
        ),
        ("date / date-", dates.french_date),
        ("nombre / nb", _joined(" ")),
        ("citation / citation étrangère / «» / guil", lambda arguments: arguments.at(1) and f"« {arguments.at(1)} »"),
    ),
    "it": _renderers(
        ("bandiera", lambda arguments: HOLE if "nome" in arguments.positional else GLOSS), ("cita", _always(HOLE))
    ),
    "de": _renderers(('"', lambda arguments: arguments.at(1) and f"„{arguments.at(1)}“"), ("zitat", _quote)),
}
"""Language -> the renderers of its wikis, which come first."""
_OF_LANGUAGE["simple"] = _OF_LANGUAGE["en"]
_OVER_LINES = re.compile(r"\n\s*(?:\||$)")
"""In the arguments of a template that stands over several lines, as boxes do and no word of a sentence."""
_SHIPS = words("uss / hms / ss / rms / hmas / hmcs / usns / uscgc / hmnzs / sms")
_GUESSES = _renderers(
    (SHOWN, _first),
    (LANGUAGE, _second),
    (FORMATNUM, _first),
    (ACCENT, _always("\u0301")),
    ("e / x10 / x10^ / 10^ / esp", measures.times_power),
    ("sup / exp / exposant / верхний индекс", measures.raised_argument),
    ("circa / c.", _each("c. ", " – ")),
    ("floruit / fl.", _joined_behind("fl. ", "–")),
    ("bibleverse / bibleverse nb / bible verse", lambda arguments: " ".join(filter(None, arguments.positional[:3]))),
    ("reign", _joined("–")),
    ("gaps / linktext", _joined("")),
    ("chem / kimya", notations.molecule),
    ("chem2", notations.formula),
    ("eqm", _always("⇌")),
    ("pow", measures.raised_number),
    ("music", lambda arguments: _MUSIC.get(arguments.at(1).casefold(), "")),
    ("keypress", _joined("+")),
    ("extinct / †", _always("†")),
    ("hlist / flatlist", _joined(", ")),
    ("qi / inline quote", lambda arguments: arguments.at(1) and f"“{arguments.at(1)}”"),
    ("ship", lambda arguments: arguments.at(2) and f"{arguments.at(1)} {arguments.at(2)}"),
    ("euro / €", _prefixed("€")),
    ("gbp / £", _prefixed("£")),
    ("us$ / usd", _prefixed("US$")),
    ("inr / indian rupee", _prefixed("₹")),
    ("spaced ndash / snd / snds / spnd / – / ndash / dash / sndash", _always(" – ")),
    ("mdash / em dash / spaced mdash / mdashb / —", _always(" — ")),
    ("nbsp / space / spaces / nbs / thinsp / thin space / hair space / hsp", _always(" ")),
    ("· / • / dot / middot / bull / bullet", _always(" · ")),
    ("!", _always("|")),
    ("=", _always("=")),
    ("' / `", _always("&#39;")),  # beside the marks of italics it would be one of them
    ("'s", _always("&#39;s")),
    ("pi", _always("π")),
    ("deg / degree", _always("°")),
    ("pbuh / saw / ص / صلى الله عليه وسلم", _always("ﷺ")),
)
"""Those for the wikis that do not say what the template shows."""
_GUESSES |= {name: _prefixed(f"{name.upper()} ") for name in _SHIPS}
_FAMILIES: dict[str, Renderer] = {
    "lang-": _first,
    "لغة-": _first,
    "script/": _first,
    "ipac-": notations.sounds_joined,
    "ipa-": notations.sounds,
} | dict.fromkeys(LINK_PREFIXES, _link(3, 1))
"""Prefix of the names of several templates -> function that renders each of them."""
_FUNCTIONS = dict.fromkeys(map(fold, words(FORMATNUM)), "")
_FUNCTIONS |= {name: name for name in ("lc", "uc", "lcfirst", "ucfirst")} | {"صغير": "lc", "كبير": "uc"}
"""Parser function that shows the text after its colon -> what it does with that."""
_SILENT_FUNCTIONS = frozenset(map(fold, words(SILENT_FUNCTIONS)))
_ROUND_TEXT = frozenset(map(fold, words(ROUND_TEXT)))
_LISTED = frozenset(_GUESSES) | _ROUND_TEXT
"""Names of templates that show text, whatever their names begin with."""
_SILENT = frozenset(map(fold, words(CITATIONS) + words(DISAMBIGUATION)))
