"""What a template shows, from its own wikitext: parameters, parser functions and the templates in it.

What only a program can tell (`#invoke`, `#expr`, `#time`) is unknown. A condition that is unknown does not matter where
both of its outcomes show the same text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from maskline.sources.dump.arguments import Arguments, add
from maskline.sources.dump.definitions import BOX, DISAMBIGUATION, Call, Definitions, Parameter, Text, parse
from maskline.sources.dump.marks import HOLE, UNKNOWN
from maskline.sources.dump.opaque import without_opaque

STEPS = 500
"""Most parameters and calls that are read for one template of a page."""
DEEPEST = 12
"""Most templates that call each other."""
NESTED = 80
"""Most parameters and calls inside each other, over all templates that call each other: Python's stack has an end."""
LONGER = 5_000
"""Most characters that a template adds to those of its arguments."""

_BLOCK = re.compile(r"\{\||<(?:table|div|ul|ol|dl|li|gallery)\b|(?:^|\n)[:;*#]|\n\n", re.IGNORECASE)
_QUOTE = re.compile(r"<(?:blockquote|poem)\b", re.IGNORECASE)
_ELEMENT = re.compile(r"\s*<(\w+)\b([^<>]*)>(.*)</\1\s*>\s*", re.DOTALL | re.IGNORECASE)
_NOT_PRINTED = re.compile(r"noprint|inline-template|display:\s*none|visibility:\s*hidden", re.IGNORECASE)
_RAISED = re.compile(r"<sup\b([^<>]*)>((?:(?!</?sup\b).)*)</sup\s*>", re.DOTALL | re.IGNORECASE)
_NOTE = re.compile(r"(?:'|<[^<>]*>|&nbsp;|\s)*(?:\[(?!\[)|\[\[\[|:|&#91;|&#x5b;|&lsqb;|［|&#58;)", re.IGNORECASE)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_CATEGORY = re.compile(r"\[\[[^\[\]|:]+:[^\[\]|]*(?:\|[^\[\]|]*)?\]\]")
_NOTHING = re.compile(r"check[ _]for|category[ _]handler|unknown parameters", re.IGNORECASE)
_SUBSTITUTED = re.compile(r"\s*(?:safesubst|subst|msgnw|msg|raw)\s*:\s*", re.IGNORECASE)
_TITLES = frozenset(("pagename", "fullpagename", "basepagename", "subpagename", "rootpagename", "subjectpagename"))
_EMPTY = frozenset(("namespace", "articlespace", "subjectspace", "talkspace", "talkpagename", "noexternallanglinks"))
_CASES: dict[str, Callable[[str], str]] = {
    "lc": str.lower,
    "uc": str.upper,
    "lcfirst": lambda text: text[:1].lower() + text[1:],
    "ucfirst": lambda text: text[:1].upper() + text[1:],
}


@dataclass
class Expansion:
    """The expansion of one template of a page."""

    definitions: Definitions
    title: str
    """The title of the page."""
    render: "Callable[[str, Arguments, Expansion], str]"
    """Name of a template, its arguments, this -> what it shows."""
    steps: int = STEPS
    depth: int = 0
    nested: int = 0

    def shown(self, name: str, arguments: Arguments) -> str | None:
        """Return what the template `name` shows in a sentence; None if the wiki does not define it.

        The result is "" for a note and a box, and contains a mark where something is unknown.
        """
        body = self.definitions.body(name)
        if body is None:
            return None
        if body == BOX:
            return ""
        if body == DISAMBIGUATION:
            return f"\n{DISAMBIGUATION}\n"
        read = parse(body)
        if read is None or self.depth == DEEPEST:
            return UNKNOWN
        self.depth += 1
        text = self._text(read, arguments)
        self.depth -= 1
        if len(text) > arguments.characters + LONGER:
            return UNKNOWN
        return _in_sentence(text)

    def _text(self, pieces: Text, arguments: Arguments) -> str:
        return "".join(piece if isinstance(piece, str) else self._piece(piece, arguments) for piece in pieces)

    def _piece(self, piece: Parameter | Call, arguments: Arguments) -> str:
        self.steps -= 1
        if self.steps < 0 or self.nested == NESTED:
            return UNKNOWN
        self.nested += 1
        shown = self._call(piece, arguments) if isinstance(piece, Call) else self._parameter(piece, arguments)
        self.nested -= 1
        return shown

    def _parameter(self, piece: Parameter, arguments: Arguments) -> str:
        given = arguments.given(self._text(piece.name, arguments).strip())
        if given is not None:
            return given
        return UNKNOWN if piece.default is None else self._text(piece.default, arguments)

    def _call(self, call: Call, arguments: Arguments) -> str:
        name = self._text(call.name, arguments).strip()
        while found := _SUBSTITUTED.match(name):
            name = name[found.end() :]
        function, colon, first = name.partition(":")
        function = function.strip().casefold()
        if name.startswith("#"):
            return self._function(function, first.strip(), call.arguments, arguments)
        if (known := self.word(function, first.strip() if colon else None)) is not None:
            return known
        passed = Arguments([], {})
        for argument in call.arguments:
            text = self._text(argument, arguments)
            if isinstance(argument[0], str) and "=" in argument[0]:
                add(passed, text)
            else:
                passed.positional.append(text.strip())
        return self.render(name, passed, self)

    def word(self, function: str, first: str | None) -> str | None:
        """Return what a magic word of MediaWiki shows; None if it is none of them, or not known."""
        if first is None:
            if function in _TITLES:
                return self.title
            return {"!": "|", "=": "=", "!!": "||", "namespacenumber": "0"}.get(
                function, "" if function in _EMPTY else None
            )
        if function in _CASES:
            return _CASES[function](first)
        return "" if function in {"defaultsort", "displaytitle", "ns"} else None

    def of_page(self, function: str, first: str, rest: list[str]) -> str:
        """Return what a parser function in a page shows, of which all arguments are already text."""
        return _in_sentence(self._function(function, first, tuple((part,) for part in rest), Arguments([], {})))

    def _function(self, function: str, first: str, rest: tuple[Text, ...], arguments: Arguments) -> str:
        """Return what a parser function shows; `rest` are its arguments after the first."""

        def at(number: int) -> str:
            return self._text(rest[number], arguments).strip() if number < len(rest) else ""

        if function in _CONDITIONS:
            return _CONDITIONS[function](first, at)
        if function == "#switch" and not _unknown(first):
            return self._switch(first, rest, arguments)
        if function == "#tag" and first.isalnum():
            return without_opaque(f"<{first}>{at(0)}</{first}>")
        if function == "#invoke" and _NOTHING.search(first):
            return ""
        if function == "#invoke" and first.casefold() == "unsubst":  # the text of a template, which it returns as it is
            found = (self._named("$B", part, arguments) for part in rest)
            return next((text for text in found if text is not None), UNKNOWN)
        return UNKNOWN

    def _named(self, name: str, part: Text, arguments: Arguments) -> str | None:
        if not isinstance(part[0], str) or not part[0].lstrip().startswith(f"{name}="):
            return None
        return self._text((part[0].lstrip()[len(name) + 1 :], *part[1:]), arguments).strip()

    def _switch(self, value: str, cases: tuple[Text, ...], arguments: Arguments) -> str:
        matched = False  # an earlier case without a value of its own had the name
        default: Text = ()
        for number, case in enumerate(cases):
            literal = case[0] if case and isinstance(case[0], str) else ""
            split = next((i for i, piece in enumerate(case) if isinstance(piece, str) and "=" in piece), None)
            if split is None:
                if number == len(cases) - 1:
                    default = case
                matched = matched or _equal(self._text(case, arguments).strip(), value)
                continue
            before, _, after = str(case[split]).partition("=")
            name = self._text((*case[:split], before), arguments).strip()
            result = (after, *case[split + 1 :])
            if matched or _equal(name, value):
                return self._text(result, arguments).strip()
            if literal.strip().startswith("#default"):
                default = result
        return self._text(default, arguments).strip()


Choice = Callable[[int], str]
"""Number of an argument -> its text, which is read only if it is chosen."""


def _if(first: str, at: Choice) -> str:
    return _either(at(0), at(1)) if _unknown(first) else at(0 if first else 1)


def _if_equal(first: str, at: Choice) -> str:
    second = at(0)
    return _either(at(1), at(2)) if _unknown(first + second) else at(1 if _equal(first, second) else 2)


_CONDITIONS: dict[str, Callable[[str, Choice], str]] = {
    "#if": _if,
    "#ifeq": _if_equal,
    "#ifexist": lambda _, at: _either(at(0), at(1)),
    "#ifexpr": lambda _, at: _either(at(0), at(1)),
    "#iferror": lambda first, at: _either(at(0) or first, at(1) or first),
}


def _unknown(text: str) -> bool:
    return HOLE in text or UNKNOWN in text


def _equal(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _either(one: str, other: str) -> str:
    """Return the text of a condition that is not known: one of its outcomes, if a reader sees the same in both."""
    return one if _plain(one) == _plain(other) else UNKNOWN


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", _CATEGORY.sub("", text)).strip()


def _in_sentence(text: str) -> str:
    """Return what the wikitext of a template shows in a sentence: "" for notes and boxes."""
    if "<" in text:
        text = _RAISED.sub(_without_note, without_opaque(text))
        element = _ELEMENT.fullmatch(_CATEGORY.sub("", text))
        if element and _NOT_PRINTED.search(element[2]):
            return ""
        if _QUOTE.search(text):
            return f"\n\n{text.strip()}\n\n"
    return "" if _BLOCK.search(text) else text


def _without_note(element: re.Match[str]) -> str:
    """Return a superscript, or "" if it is a note: not printed, in square brackets, or a page as in `:12`."""
    return "" if _NOT_PRINTED.search(element[1]) or _NOTE.match(element[2]) else element[0]
