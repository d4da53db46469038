"""Chemical formulas, pronunciations and places as templates show them."""

import re

from maskline.sources.dump.arguments import Arguments
from maskline.sources.dump.marks import GLOSS, GLOSSED
from maskline.sources.dump.measures import raised

_CHARGE = re.compile(r"\d*[+−–-]")
_CHARGE_IN_BRACKETS = re.compile(r"\((\d*[+−–-])\)")
_CHARGE_AT_END = re.compile(r"(?<=[A-Za-z\d\])])[+−–-](?=$|[\s)\]])")
_ANGLE = re.compile(r"[-−+]?\d+(?:\.\d+)?")
_SOUND = re.compile(r"(?:lang|pron|local|uk|us|usalso|ukalso|also|icon)|.*\.(?:og[ag]|wav|mp3)|", re.IGNORECASE)
"""Arguments of a pronunciation that are no part of it."""
_CLICK = frozenset(
    ("listen", "play", "pronunciation", "help", "info", "écouter", "prononciation", "ascolta", "escuchar", "anhören")
)
"""What stands beside a recording where it says what a click does."""


def molecule(arguments: Arguments) -> str:
    """Return a chemical formula that is given as its elements, numbers and charges: "SO4²⁻"."""
    return "".join(_charge(part) if _CHARGE.fullmatch(part) else part for part in arguments.texts())


def formula(arguments: Arguments) -> str:
    """Return a chemical formula or reaction that is given in a line: `SO4(2-)` is "SO4²⁻"."""
    written = "".join(arguments.texts()).replace("<->", "⇌").replace("->", "→")
    written = _CHARGE_IN_BRACKETS.sub(lambda charge: _charge(charge[1]), written)
    return _CHARGE_AT_END.sub(lambda charge: _charge(charge[0]), written)


def _charge(text: str) -> str:
    return raised(text.replace("–", "-"))


def sounds(arguments: Arguments) -> str:
    """Return a pronunciation: "[tʃ]"."""
    return gloss(arguments.at(1) and f"[{arguments.at(1)}]")


def sounds_of(arguments: Arguments) -> str:
    """Return a pronunciation that may stand behind the code of its language: fr, paʁi is "[paʁi]"."""
    first, text = arguments.at(1), arguments.at(2)
    return gloss(f"[{text}]" if text and text[0] not in "[/" else text or first)


def recording(arguments: Arguments) -> str:
    """Return the word that a recording is of; it is none where it only says what a click does."""
    word = arguments.at(2)
    return gloss("" if word.casefold() in _CLICK else word)


def authors(arguments: Arguments) -> str:
    """Return a work that the sentence names by its authors: "Weil & Serre (1979)"."""
    *names, year = arguments.texts() or [""]
    if not names or not year[:4].isdecimal():
        return ""
    shown = f"{names[0]} et al." if len(names) > 3 else " & ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{shown} ({year})"


def sounds_joined(arguments: Arguments) -> str:
    """Return a pronunciation of which each sound is an argument, between slashes."""
    joined = "".join(part for part in arguments.positional if not _SOUND.fullmatch(part))
    return gloss(joined and f"/{joined.replace('_', ' ')}/")


def syllables(arguments: Arguments) -> str:
    """Return a pronunciation spelled out by syllables: "AM-peer"."""
    return gloss("-".join(arguments.texts()))


def place(arguments: Arguments) -> str:
    """Return coordinates: "57.3°N 4.4°W", with minutes and seconds if given; nothing if the title alone has them."""
    if arguments.named.get("display", "inline") in {"title", "t"}:
        return gloss("")
    north, read = _angle(arguments.positional, "NS")
    east, _ = _angle(arguments.positional[read:], "EW")
    return gloss(f"{north} {east}" if north and east else "")


def _angle(given: list[str], directions: str) -> tuple[str, int]:
    """Return the angle at the beginning of `given`, and how many of these it takes; ("", 0) if there is none."""
    end = next((number for number, text in enumerate(given[:4]) if text and text.upper() in directions), 0)
    parts = given[: end or 1]
    if not parts or not all(map(_ANGLE.fullmatch, parts)):
        return "", 0
    if end:
        return "".join(map("".join, zip(parts, "°′″", strict=False))) + given[end].upper(), end + 1
    return f"{parts[0].lstrip('-−+')}°{directions[parts[0].startswith(('-', '−'))]}", 1


def gloss(text: str) -> str:
    """Return the text of a gloss with its marks."""
    return f"{GLOSS}{text}{GLOSSED}" if text else GLOSS
