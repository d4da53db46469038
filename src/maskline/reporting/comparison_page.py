"""A comparison as a page, a table of every number, and a figure of the curves over each other."""

import html
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from urllib.parse import quote

from maskline.core.storage import write_csv, write_text
from maskline.core.text import escape, printable, wrapped
from maskline.reporting.comparison import Comparison, Row, same_data, written
from maskline.reporting.overlay import Curve, overlay
from maskline.reporting.style import save, theme
from maskline.reporting.tables import ABSENT, format_number, markdown

ROOM = 80
"""Characters of the changes in a cell; more are folded below the table."""
ARROWS = {"higher": "↑", "lower": "↓"}


def write_comparison(comparison: Comparison, stem: Path) -> list[Path]:
    """Write the comparison as .md and .csv, and the validation curves over each other as .svg and .png.

    Returns the paths written. Where no run has a curve there is no figure, and none is left from before.
    """
    document, table, *drawn = (stem.with_name(f"{stem.name}.{kind}") for kind in ("md", "csv", "svg", "png"))
    curves = [
        curve
        for row in comparison.rows
        if (
            curve := _curve(
                row, _brief(comparison.own(row)), others=not same_data(row.runs[0], comparison.rows[0].runs[0], "")
            )
        )
        is not None
    ]
    text = to_markdown(comparison)
    if curves:
        with theme():
            save(overlay(curves), stem)
        text += f"\n![Validation loss of the experiments]({quote(stem.name)}.svg)\n"
    else:
        for picture in drawn:
            picture.unlink(missing_ok=True)
        drawn = []
    write_text(document, text)
    _write_csv(comparison, table)
    return [document, table, *drawn]


def to_markdown(comparison: Comparison) -> str:
    """Return the comparison as Markdown: the table, how to read it, the notes, and what is too long for a cell."""
    lists = [(f"all but {comparison.rows[0].names}", comparison.shared)]
    lists += [(row.names, comparison.own(row)) for row in comparison.rows]
    folded = "".join(
        f"\n<details><summary>All changes of {html.escape(printable(name))}</summary>\n\n"
        + "".join(f"- {escape(text)}\n" for text in texts)
        + "\n</details>\n"
        for name, texts in lists
        if _brief(texts) != ", ".join(texts)
    )
    return _document(comparison, escape) + folded


def to_text(comparison: Comparison, width: int | None = None) -> str:
    """Return the same for a terminal of `width` characters, without what is too long for a cell.

    Where it has no room for the table, each cell is a line. None: there is room for everything.
    """
    return _document(comparison, printable, width)


def _document(comparison: Comparison, shown: Callable[[str], str], width: int | None = None) -> str:
    marked = any(run.state != "done" for row in comparison.rows for run in row.runs)
    texts = ["experiment", "changed", "seed", *(["state"] if marked else [])]
    header = [*texts, *(f"{column.title} {ARROWS[column.better]}" for column in comparison.columns.values())]
    rows = [
        [
            row.names,
            _brief(comparison.own(row)) or ABSENT,
            _seeds(row),
            *([row.runs[0].state] if marked else []),
            *(_cell(comparison, row, metric) for metric in comparison.columns),
        ]
        for row in comparison.rows
    ]
    numeric = [False] * len(texts) + [True] * len(comparison.columns)
    legend = (
        "Arrows point to the better side. In brackets: the difference to the first row, the reference, "
        "where both were scored on the same data. Where a row has several seeds: mean ± sample standard deviation."
    )
    shared = ""
    if comparison.shared:
        shared = f"All but {shown(comparison.rows[0].names)} have {shown(_brief(comparison.shared))}."
        shared = f"{wrapped(shared, width, 0) if width else shared}\n\n"
    lines = [f"- {shown(note)}" for note in comparison.notes]
    notes = "".join(f"{wrapped(line, width) if width else line}\n" for line in lines)
    table = markdown(header, rows, numeric, shown)
    if width:
        legend = wrapped(legend, width, 0)
        if max(map(len, table.splitlines())) > width:
            cells = [[f"{title}: {shown(cell)}" for title, cell in zip(header, row, strict=True)] for row in rows]
            table = "\n".join("".join(f"{wrapped(cell, width)}\n" for cell in row) for row in cells)
    return f"# Comparison\n\n{shared}{table}\n{legend}\n" + (f"\n{notes}" if notes else "")


def _brief(changes: Sequence[str]) -> str:
    """Return changes in a line that a cell has room for; how many are left is said."""
    whole = ", ".join(changes)
    if len(whole) <= ROOM:
        return whole
    shown = [text if len(text) <= ROOM else text[: ROOM - 2] + " …" for text in changes]
    count = max(1, sum(length <= ROOM for length in accumulate(len(text) + 2 for text in shown)))
    left = len(changes) - count
    return ", ".join(shown[:count]) + (f" and {left} more" if left else "")


def _seeds(row: Row) -> str:
    seeds = ", ".join(ABSENT if seed is None else str(seed) for seed in row.seeds)
    return seeds if len(row.runs) == 1 else f"{seeds} (n = {len(row.runs)})"


def _cell(comparison: Comparison, row: Row, metric: str) -> str:
    value = row.mean(metric)
    text = format_number(value)
    if (deviation := row.deviation(metric)) is not None:
        text += f" ± {format_number(deviation, beside=value)}"
    if (difference := comparison.difference(row, metric)) is not None:
        text += f" ({format_number(difference, sign='+', beside=value)})"
    return text + " (other data)" * comparison.has_other_data(row, metric)


def _write_csv(comparison: Comparison, path: Path) -> None:
    """Write every number whole: one column per differing parameter, and mean, sd and difference of each metric."""
    params = list(dict.fromkeys(key for row in comparison.rows for key in row.changes))
    reference = comparison.rows[0].runs[0].params
    rows = []
    for row in comparison.rows:
        fields: dict[str, Any] = {"experiment": row.names, "state": row.runs[0].state, "n": len(row.runs)}
        fields["seed"] = " ".join(str(seed) for seed in row.seeds)
        fields |= {key: written(row.changes.get(key, reference.get(key))) for key in params}
        for metric in comparison.columns:
            fields[metric] = row.mean(metric)
            fields[f"{metric}_sd"] = row.deviation(metric)
            fields[f"{metric}_difference"] = comparison.difference(row, metric)
        rows.append(fields)
    write_csv(path, rows, list(rows[0]))


def _curve(row: Row, detail: str, *, others: bool) -> Curve | None:
    """Return the mean curve of a row over the steps that all its runs have, None where there is no step."""
    steps = [step for step in row.runs[0].curve if all(step in run.curve for run in row.runs)]
    if not steps:
        return None
    losses = [[run.curve[step] for run in row.runs] for step in steps]
    name = row.runs[0].name
    if len(row.runs) > 1:
        name += f" (n = {len(row.runs)})"
    if row.runs[0].state != "done":
        name += f" ({row.runs[0].state})"
    if others:
        name += " (other data)"
    spread = [stdev(values) if len(values) > 1 else 0.0 for values in losses]
    return Curve(name, detail, steps, list(map(mean, losses)), spread)
