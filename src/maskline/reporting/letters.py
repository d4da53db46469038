"""Names in scripts that the font of the figures lacks, such as Chinese: another installed font, or else a note."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT = "DejaVu Sans"
"""Comes with matplotlib; has Latin, Greek, Cyrillic, Arabic, Hebrew, Georgian and Armenian."""
NOTE = (
    "No installed font has the letters written as \\u…: install one,\n"
    "such as those of fonts-noto-cjk and fonts-noto-core, and run again"
)


def show_letters(figure: "Figure") -> None:
    """Give the texts of `figure` fonts that have their letters; spell out those that no installed font has, and say so.

    A figure of which FONT has all letters stays as it is.
    """
    from matplotlib.font_manager import findfont
    from matplotlib.text import Text

    texts = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    wanted = frozenset("".join(text.get_text() for text in texts)) - _letters(findfont(FONT)) - frozenset("\n")
    if not wanted:
        return
    fonts, lacking = _fonts_for(wanted)
    for text in texts:
        text.set_fontfamily([FONT, *fonts])
        text.set_text(_spelled(text.get_text(), lacking))
    if not lacking:
        return
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        labels = [label.get_text() for label in axis.get_ticklabels()]  # each drawing makes them anew
        if not lacking.isdisjoint("".join(labels)):
            axis.set_ticks(axis.get_ticklocs(), [_spelled(label, lacking) for label in labels])
    figure.text(0, -0.02, NOTE, fontsize=7, va="top")


def _spelled(text: str, lacking: frozenset[str]) -> str:
    return "".join(letter.encode("unicode_escape").decode() if letter in lacking else letter for letter in text)


def _fonts_for(wanted: frozenset[str]) -> tuple[list[str], frozenset[str]]:
    """Return the installed fonts that have most of the letters, in turn, and the letters that none has."""
    letters = _installed()
    fonts = []
    while letters:
        found = max(letters, key=lambda name: len(wanted & letters[name]))  # of equal ones the first by name
        if wanted.isdisjoint(letters[found]):
            break
        fonts.append(found)
        wanted -= letters[found]
    return fonts, wanted


def _installed() -> dict[str, frozenset[str]]:
    """Return the letters of each installed font by its name, but for FONT and one with a sign for each script."""
    from matplotlib.font_manager import fontManager

    files = {font.name: font.fname for font in fontManager.ttflist if (font.style, font.weight) == ("normal", 400)}
    return {
        name: _letters(files[name]) for name in sorted(files) if name != FONT and not name.startswith("Last Resort")
    }


@cache
def _letters(file: str) -> frozenset[str]:
    from matplotlib.font_manager import get_font

    return frozenset(map(chr, get_font(file).get_charmap()))
