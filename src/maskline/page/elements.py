"""Pieces of HTML. Whatever comes from elsewhere goes through `text`."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from maskline.core.text import printable

CLASS, ROW = ' class="number"', ' scope="row"'


@dataclass(frozen=True)
class Cell:
    """A field of a table."""

    shown: str
    """HTML."""
    order: float | None = None
    """What the column is sorted by; None: its text."""
    number: bool = False
    """Whether it stands to the right."""


def text(content: object) -> str:
    """Return what shows `content` as it is, in one line, in its own direction."""
    shown = html.escape(printable(str(content)))
    return shown if shown.isascii() else f"<bdi>{shown}</bdi>"


def plain(content: object) -> str:
    """Return `content` for an attribute."""
    return html.escape(printable(str(content)), quote=True)


def code(content: object) -> str:
    """Return `content` as something to type or to compare."""
    return f"<code>{text(content)}</code>"


def paragraph(content: str, kind: str = "") -> str:
    """Return a paragraph of HTML."""
    return f'<p class="{kind}">{content}</p>' if kind else f"<p>{content}</p>"


def folded(summary: str, content: str, key: str) -> str:
    """Return what is shown when somebody asks for it; `key` names it in the page."""
    return f'<details id="{plain(key)}"><summary>{summary}</summary>{content}</details>'


def card_grid(parts: Sequence[str]) -> str:
    """Return pieces of HTML as cards, beside each other where there is room."""
    return '<div class="cards">' + "".join(f'<div class="card">{part}</div>' for part in parts) + "</div>"


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[object]], *, sortable: bool = False) -> str:
    """Return a table whose fields are cells or HTML; the first of each row names it. Wide ones scroll on their own.

    Without a row there is no table.
    """
    if not rows:
        return ""
    right = [all(isinstance(field, Cell) and field.number for field in column) for column in zip(*rows, strict=True)]
    head = "".join(f'<th scope="col"{CLASS * numeric}>{name}</th>' for name, numeric in zip(header, right, strict=True))
    body = "".join(f"<tr>{_field(row[0], 'th', ROW)}{''.join(_field(field) for field in row[1:])}</tr>" for row in rows)
    kind = ' class="sortable"' if sortable else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{plain(caption)}"><table{kind}>'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _field(field: object, tag: str = "td", scope: str = "") -> str:
    if not isinstance(field, Cell):
        return f"<{tag}{scope}>{field}</{tag}>"
    order = "" if field.order is None else f' data-order="{field.order!r}"'
    return f"<{tag}{scope}{order}{CLASS * field.number}>{field.shown}</{tag}>"
