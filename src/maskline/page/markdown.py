"""The pages that stages leave in Markdown, as HTML."""

import html
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

OURS = {"<bdi>", "</bdi>"}
"""The HTML that stages write; all else in their pages is text."""


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable("table").disable(["image", "link", "autolink"])
    parser.add_render_rule("html_inline", _html)
    parser.add_render_rule("html_block", _html)
    for kind in ("open", "close"):
        parser.add_render_rule(f"heading_{kind}", _heading)
    return parser


def _html(_: Any, tokens: Sequence[Any], place: int, *__: Any) -> str:
    content = str(tokens[place].content)
    return content if content in OURS else html.escape(content)


def _heading(_: Any, tokens: Sequence[Any], place: int, *__: Any) -> str:
    """Return the tag of a heading: those of a page stand a level below those of the file that it was."""
    token = tokens[place]
    return f"<{'/' * (token.nesting < 0)}h{min(6, int(token.tag[1]) + 1)}>"


def cards(markdown: str) -> tuple[str, list[str]]:
    """Return what stands above the second headings of a page, its first one aside, and each part below one."""
    lines = markdown.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("## ")]
    first = next((number + 1 for number, line in enumerate(lines) if line.startswith("# ")), 0)
    ends = [*starts[1:], len(lines)] if starts else []
    above = lines[first : starts[0] if starts else len(lines)]
    parts = ["\n".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]
    return _rendered("\n".join(above)), [_rendered(part) for part in parts]


def _rendered(markdown: str) -> str:
    shown = str(_parser().render(markdown))
    return shown.replace("<p>", '<p dir="auto">').replace("<blockquote>", '<blockquote dir="auto">')
