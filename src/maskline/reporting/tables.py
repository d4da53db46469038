"""Numbers in rows: how one is written, Markdown, and the table that a run ends with."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from maskline.core.errors import UserError
from maskline.core.scores import Headline, Report
from maskline.core.storage import read_csv, read_json
from maskline.core.text import escape, printable, wrapped
from maskline.reporting.scores import Scores

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

PREDICTIONS = "predictions.csv"
"""What `score` calls the table with a row for each test example."""
ABSENT = "—"


def format_number(value: float | None, *, sign: str = "", beside: float | None = None) -> str:
    """Return three decimals, e-notation where they would say nothing, a dash where there is no number.

    `sign` is "+" to write that sign too; a number that stands `beside` another takes its notation.
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    size = abs(value if beside is None else beside)
    return f"{value:{sign}.3f}" if size == 0 or 1e-3 <= size < 1e4 else f"{value:{sign}.2e}"


def markdown(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    numeric: Sequence[bool],
    shown: Callable[[str], str] = escape,
) -> str:
    """Return a Markdown table, aligned to be read as plain text too; `numeric` columns align right.

    `shown` makes what a cell holds harmless where the table is read.
    """
    cells = [[shown(cell) for cell in row] for row in (header, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    rules = ["-" * (width - right) + ":" * right for width, right in zip(widths, numeric, strict=True)]
    lines = [
        "| " + " | ".join(_align(*cell) for cell in zip(row, widths, numeric, strict=True)) + " |"
        for row in (cells[0], rules, *cells[1:])
    ]
    return "\n".join(lines) + "\n"


def fitting(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    shown: Callable[[str], str],
    width: int | None,
) -> str:
    """Return the table of `markdown`; where a terminal of `width` characters has no room, a line for each cell.

    None is a terminal of any width.
    """
    table = markdown(header, rows, numeric, shown)
    if width is None or max(map(len, table.splitlines())) <= width:
        return table
    cells = [[f"{title}: {shown(cell)}" for title, cell in zip(header, row, strict=True)] for row in rows]
    return "\n".join("".join(f"{wrapped(cell, width)}\n" for cell in row) for row in cells)


def _align(cell: str, width: int, right: bool) -> str:
    return cell.rjust(width) if right else cell.ljust(width)


def read_seconds(path: Path) -> float:
    """Return how long a stage took, from the file that it left.

    Raises:
        UserError: the file holds something else.
    """
    try:
        return float(read_json(path)["seconds"])
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{path} does not say how long the stage took: remove it") from None


def result_rows(scores: Iterable[Scores]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the numbers to look at first: name, number, and the numbers and names that it is held against."""
    return [
        (
            part.name(headline),
            format_number(part.metrics[headline.metric]) + _certainty(part, headline),
            [(format_number(part.metrics.get(key)), name) for key, name in headline.against.items()],
        )
        for part in scores
        for headline in part.report.headlines
        if headline.metric in part.metrics
    ]


FEW = 100
"""Examples below which a number says how many it rests on."""


def _certainty(scores: Scores, headline: Headline) -> str:
    """Return the confidence interval of a number, and on how many examples it rests where these are few."""
    bounds = [scores.metrics.get(f"{headline.metric}_{end}") for end in ("low", "high")]
    count = scores.metrics.get(headline.count) if headline.count else None
    known = [f"{bounds[0]:.3f} to {bounds[1]:.3f}"] if None not in bounds else []
    few = [f"n = {count:.0f}"] if count is not None and count < FEW else []
    return f" ({', '.join(known + few)})" if known or few else ""


def results_markdown(scores: Iterable[Scores]) -> str:
    """Return the Markdown table of a run: each number beside what makes it readable."""
    rows = [
        (name, number, ", ".join(f"{text} {baseline}" for baseline, text in against))
        for name, number, against in result_rows(scores)
    ]
    return markdown(("measured", "maskline", "held against"), rows, (False, True, False))


def results(scores: Iterable[Scores]) -> "Table":
    """Return the same as a Rich table."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title="Results", title_justify="left")
    table.add_column("measured")
    table.add_column("maskline", justify="right", style="bold")
    table.add_column("held against", justify="right")
    table.add_column("")
    for name, number, against in result_rows(scores):
        held = "\n".join(printable(text) for _, text in against)
        table.add_row(Text(printable(name)), number, "\n".join(value for value, _ in against), Text(held))
    return table


def results_lines(scores: Iterable[Scores]) -> "Text":
    """Return the same for a terminal that has no room for a table: a line for each number."""
    from rich.text import Text

    lines = ["Results"]
    for name, number, against in result_rows(scores):
        lines += ["", printable(name), f"{number} maskline", *(f"{value} {printable(text)}" for value, text in against)]
    return Text("\n".join([*lines, ""]))


def details(task: str, folder: Path, report: Report) -> "list[Table]":
    """Return the tables that lie in `folder` beside the report of a task, such as that of its classes.

    Those with a row for each cell of a matrix, or for each example, are left out.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    long = {PREDICTIONS, *(figure.table for figure in report.figures if figure.shape in {"matrix", "scatter"})}
    tables = []
    for path in sorted(folder.glob("*.csv")):
        rows = read_csv(path)
        if path.name in long or not rows:
            continue
        title = Text(printable(f"{task}: {path.stem} (test split)"))
        table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", min_width=title.cell_len)
        for number, name in enumerate(rows[0]):
            table.add_column(Text(printable(name)), justify="right" if number else "left", no_wrap=bool(number))
        for row in rows:
            first, *others = row.values()
            table.add_row(Text(printable(first)), *(_digits(text) for text in others))
        tables.append(table)
    return tables


def _digits(text: str) -> str:
    """Return a field of a table, rounded where it is no whole number."""
    try:
        return text if text.lstrip("-").isdigit() else format_number(float(text))
    except ValueError:
        return printable(text).replace("[", "\\[") or ABSENT
