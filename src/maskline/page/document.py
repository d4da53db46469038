"""The page as a file: sections, figures with their data, and the libraries that draw them. It needs nothing else."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from maskline.core.errors import UserError
from maskline.page.elements import plain, text

MOST_BYTES = 2_000_000
"""Of a page: what a mail takes, and a browser opens at once."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data:"
"""What a browser lets the page do: run its own scripts, whose formulas Vega compiles, and load nothing."""


@dataclass(frozen=True)
class Table:
    """Rows of a figure's data."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Figure:
    """A drawing in Vega-Lite."""

    key: str
    """Its name in the page, of letters, digits and -."""
    title: str
    spec: Mapping[str, Any]
    """Without its data, which it knows by name."""
    data: Mapping[str, Table]
    caption: str = ""
    """HTML."""
    axes: Mapping[str, str] = field(default_factory=dict)
    """Column -> title of what the curves may be drawn against; the first is drawn at first. Empty: no choice."""
    is_loss: bool = False
    """Whether its numbers are losses, which may be drawn on a logarithmic axis."""


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    key: str
    title: str
    html: str
    """Where it says `figure(key)` stands, that figure does."""
    figures: Sequence[Figure] = ()
    fallbacks: Sequence[tuple[str, str]] = ()
    """Title and SVG of what is shown where scripts are off."""


@dataclass(frozen=True)
class Page:
    """All of it."""

    title: str
    lead: str
    """HTML."""
    sections: Sequence[Section]
    live: bool = False


def check_installed() -> None:
    """Check that the extra `report` is installed.

    Raises:
        UserError: it is not; the error says how to get it.
    """
    from importlib.util import find_spec

    packages = {"altair": "altair", "markdown_it": "markdown-it-py", "vl_convert": "vl-convert-python"}
    missing = [package for module, package in packages.items() if find_spec(module) is None]
    if missing:
        raise UserError(f"{', '.join(missing)} is not installed: pip install -c constraints.txt -e '.[report]'")


def place(figure: Figure) -> str:
    """Return where a figure stands."""
    caption = f"<figcaption>{figure.caption}</figcaption>" if figure.caption else ""
    return f'<figure><h3>{text(figure.title)}</h3><div class="chart" id="{plain(figure.key)}"></div>{caption}</figure>'


def grid(drawn: Sequence[Figure]) -> str:
    """Return the places of figures, beside each other where there is room."""
    kind = "grid three" if drawn and len(drawn) % 3 == 0 else "grid"
    return f'<div class="{kind}">{"".join(map(place, drawn))}</div>' if drawn else ""


def controls(figures: Sequence[Figure]) -> str:
    """Return what the curves of a section are drawn by: against which column, on which axes, how large."""
    axes = {column: title for figure in figures for column, title in figure.axes.items()}
    if not axes:
        return ""
    key = figures[0].key
    choices = "".join(
        f'<label><input type="radio" name="x-{plain(key)}" value="{plain(column)}"{" checked" * (number == 0)}> '
        f"{text(title)}</label>"
        for number, (column, title) in enumerate(axes.items())
    )
    logarithmic = (
        '<label><input type="checkbox" value="log-y"> logarithmic loss</label>'
        if any(figure.is_loss for figure in figures)
        else ""
    )
    has_splits = any("split" in table.columns for figure in figures for table in figure.data.values())
    splits = '<span class="hint"><i class="thin"></i> training <i class="thick"></i> validation</span>' * has_splits
    return (
        f'<fieldset class="controls" data-figures="{plain(" ".join(figure.key for figure in figures))}">'
        f"<legend>Curves against</legend>{choices}"
        f'<label><input type="checkbox" value="log-x"> logarithmic axis</label>{logarithmic}'
        '<span class="buttons"><button type="button" value="in">Zoom in</button>'
        '<button type="button" value="out">Zoom out</button><button type="button" value="all">Show all</button></span>'
        '<span class="hint">or drag, and turn the wheel with Shift held.</span>'
        f"{splits}</fieldset>"
    )


def data_of(section: Section) -> dict[str, Any]:
    """Return what the page's script needs of the figures of a section, as JSON."""
    return {
        figure.key: {
            "spec": figure.spec,
            "data": {name: {"columns": data.columns, "rows": data.rows} for name, data in figure.data.items()},
            "axes": figure.axes,
            "loss": figure.is_loss,
        }
        for figure in section.figures
    }


def render(page: Page) -> str:
    """Return the page as HTML.

    Fallbacks are left out where they have no room within MOST_BYTES, and that is said in their place.
    """
    style, script = (files(__package__).joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    figures = {key: figure for section in page.sections for key, figure in data_of(section).items()}
    parts = {
        "data": f'<script type="application/json" id="figures">{in_script(figures)}</script>',
        "library": f"<script>{_library()}</script>",
        "script": f"<script>{script}</script>",
    }
    room = MOST_BYTES - sum(len(part.encode()) for part in (*parts.values(), style, *(s.html for s in page.sections)))
    body = ""
    for section in page.sections:
        content, room = _with_fallbacks(section, room - 1000)
        key = plain(section.key)
        body += (
            f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{text(section.title)}</h2>'
            f'<div class="content">{content}</div></section>'
        )
    links = "".join(f'<li><a href="#{plain(s.key)}">{text(s.title)}</a></li>' for s in page.sections)
    policy = POLICY + "; connect-src 'self'" * page.live
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<link rel="icon" href="data:,"><title>{plain(page.title)}</title><style>{style}</style></head>'
        f"<body{' data-live' * page.live}><header><h1>{text(page.title)}</h1>"
        f'<div id="lead">{page.lead}</div>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header><main>{body}</main>'
        f"{parts['data']}{parts['library']}{parts['script']}</body></html>\n"
    )


def in_script(value: Any) -> str:
    """Return JSON that no text in it can end the element `script` around it."""
    content = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return content.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _with_fallbacks(section: Section, room: int) -> tuple[str, int]:
    pictures = ""
    for title, svg in section.fallbacks:
        size = len(svg.encode())
        if size > room:
            pictures += f"<p>{text(title)}: no room for the picture in this page; it lies in reports/figures.</p>"
        else:
            pictures += f'<div class="fallback">{svg}</div>'
            room -= size
    return section.html + (f"<noscript>{pictures}</noscript>" if pictures else ""), room


@cache
def _library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    return (
        vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
        .replace("</script", "<\\/script")
        .replace("<!--", "<\\!--")
    )
