"""A comparison as a page, a table of every number, and a figure of the curves over each other."""

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from maskline.core.storage import write_csv, write_text
from maskline.core.text import escape, printable, wrapped
from maskline.reporting.comparison import Comparison, Row, same_data, written
from maskline.reporting.overlay import GAIN, LOSS, Curve, SeedCurves, overlay, seed_bands
from maskline.reporting.runs import MLM, Run
from maskline.reporting.seeds import ARROWS, range_text
from maskline.reporting.style import save, theme
from maskline.reporting.tables import ABSENT, fitting, format_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEDS = "-seeds"
"""What follows the name of the comparison in that of the figure of seeds."""
ROOM = 80
"""Characters of the changes in a cell; more are folded below the table."""


def write_comparison(comparison: Comparison, stem: Path) -> list[Path]:
    """Write the comparison as .md and .csv, and the validation curves over each other as .svg and .png.

    Where a row has several seeds, a second figure has the curve of each and a band over them. Returns the paths
    written. A figure without any curve is not written, and none is left from before.
    """
    document, table = (stem.with_name(f"{stem.name}.{kind}") for kind in ("md", "csv"))
    text = to_markdown(comparison)
    drawn: list[Path] = []
    with theme():
        for name, (title, figure) in zip((stem.name, f"{stem.name}{SEEDS}"), drawings(comparison), strict=True):
            pictures = [stem.with_name(f"{name}.{kind}") for kind in ("svg", "png")]
            if figure is None:
                for picture in pictures:
                    picture.unlink(missing_ok=True)
                continue
            save(figure, stem.with_name(name))
            text += f"\n![{title}]({quote(name)}.svg)\n"
            drawn += pictures
    write_text(document, text)
    _write_csv(comparison, table)
    return [document, table, *drawn]


def drawings(comparison: Comparison) -> "list[tuple[str, Figure | None]]":
    """Return the curves over each other and those of seeds: title and figure, None where there is no curve."""
    loss, level = LOSS, levelled(comparison)
    if level:
        loss, comparison = GAIN, level
    curves = [curve for row in comparison.rows if (curve := _curve(comparison, row)) is not None]
    seeds = [found for row in comparison.rows if (found := _seed_curves(comparison, row)) is not None]
    return [
        ("Validation loss of the experiments", overlay(curves, loss) if curves else None),
        ("Validation loss over seeds", seed_bands(seeds, loss) if seeds else None),
    ]


def levelled(comparison: Comparison) -> Comparison | None:
    """Return the comparison with each curve less the loss of guessing by frequency on the same data.

    None where all were scored on the same data, or where it is not known of all: losses of another vocabulary or other
    texts say nothing beside each other.
    """
    known = all(run.unigram is not None for row in comparison.rows for run in row.runs if run.curve)
    if not known or not any(_others(comparison, row) for row in comparison.rows):
        return None
    rows = [replace(row, runs=tuple(map(_from_frequencies, row.runs))) for row in comparison.rows]
    return replace(comparison, rows=rows)


def _from_frequencies(run: Run) -> Run:
    def less(curve: Mapping[float, float]) -> dict[float, float]:
        return {step: loss - (run.unigram or 0.0) for step, loss in curve.items()}

    pretraining = {name: less(curve) if name == MLM else curve for name, curve in run.curves.get("", {}).items()}
    return replace(run, curve=less(run.curve), curves={**run.curves, "": pretraining})


def to_markdown(comparison: Comparison) -> str:
    """Return the comparison as Markdown: the table, how to read it, the notes, and what is too long for a cell."""
    lists = [(f"all but {comparison.rows[0].names}", comparison.shared)]
    lists += [(row.names, comparison.own(row)) for row in comparison.rows]
    folded = "".join(
        f"\n<details><summary>All changes of {html.escape(printable(name))}</summary>\n\n"
        + "".join(f"- {escape(text)}\n" for text in texts)
        + "\n</details>\n"
        for name, texts in lists
        if brief(texts) != ", ".join(texts)
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
            brief(comparison.own(row)) or ABSENT,
            seeds_text(row),
            *([row.runs[0].state] if marked else []),
            *(cell_text(comparison, row, metric) for metric in comparison.columns),
        ]
        for row in comparison.rows
    ]
    numeric = [False] * len(texts) + [True] * len(comparison.columns)
    legend = (
        "Arrows point to the better side. In brackets: the difference to the first row, the reference, "
        "where both were scored on the same data. Where a row has several seeds: mean ± sample standard deviation."
    )
    table = fitting(header, rows, numeric, shown, width)
    shared = ""
    if comparison.shared:
        shared = f"All but {shown(comparison.rows[0].names)} have {shown(brief(comparison.shared))}."
        shared = f"{wrapped(shared, width, 0) if width else shared}\n\n"
    lines = [f"- {shown(note)}" for note in comparison.notes]
    notes = "".join(f"{wrapped(line, width) if width else line}\n" for line in lines)
    legend = wrapped(legend, width, 0) if width else legend
    return f"# Comparison\n\n{shared}{table}\n{legend}\n" + _paired(comparison, shown, width) + (notes and f"\n{notes}")


PAIRED = (
    "Runs with the same seed have sentence pairs, masks and their order in common. The interval is Student's; p is "
    "the share of all changes of sign of the differences whose mean is as far from 0 as theirs, on either side."
)
"""How to read the differences of pairs."""


def _paired(comparison: Comparison, shown: Callable[[str], str], width: int | None) -> str:
    """Return the differences of runs with the same seed, nothing where no row has two in common with the first."""
    header = ("experiment", "measured", "seeds", "mean difference", "95 % interval", "p", "by seed")
    rows, verdicts = [], dict[str, None]()
    for row in comparison.rows[1:]:
        for metric, column in comparison.columns.items():
            if (pairs := comparison.pairs(row, metric)) is None:
                continue
            beside = comparison.rows[0].mean(metric)
            count, numbers = len(pairs.differences), [len(row.runs), len(comparison.rows[0].runs)]
            rows.append(
                [
                    row.names,
                    f"{column.title} {ARROWS[column.better]}",
                    str(count) if numbers == [count, count] else f"{count} of {numbers[0]} and {numbers[1]}",
                    format_number(pairs.mean, sign="+", beside=beside),
                    range_text(pairs.interval, beside, sign="+"),
                    format_number(pairs.p),
                    ", ".join(
                        f"{seed}: {format_number(difference, sign='+', beside=beside)}"
                        for seed, difference in pairs.differences.items()
                    ),
                ]
            )
            if pairs.verdict:
                verdicts[f"- {shown(row.names)}: {pairs.verdict}."] = None
    if not rows:
        return ""
    lines = [PAIRED, "", *verdicts] if verdicts else [PAIRED]
    said = "".join(f"{wrapped(line, width, 2 * line.startswith('-')) if width and line else line}\n" for line in lines)
    table = fitting(header, rows, [False, False, True, True, True, True, False], shown, width)
    return f"\n## Pairs of runs with the same seed\n\n{table}\n{said}"


def brief(changes: Sequence[str]) -> str:
    """Return changes in a line that a cell has room for; how many are left is said."""
    whole = ", ".join(changes)
    if len(whole) <= ROOM:
        return whole
    shown = [text if len(text) <= ROOM else text[: ROOM - 2] + " …" for text in changes]
    count = max(1, sum(length <= ROOM for length in accumulate(len(text) + 2 for text in shown)))
    left = len(changes) - count
    return ", ".join(shown[:count]) + (f" and {left} more" if left else "")


def seeds_text(row: Row) -> str:
    """Return the seeds of a row, and how many there are."""
    seeds = ", ".join(ABSENT if seed is None else str(seed) for seed in row.seeds)
    return seeds if len(row.runs) == 1 else f"{seeds} (n = {len(row.runs)})"


def cell_text(comparison: Comparison, row: Row, metric: str) -> str:
    """Return a metric of a row: its mean over the seeds, their deviation, and the difference to the reference."""
    value = row.mean(metric)
    text = format_number(value)
    if (deviation := row.deviation(metric)) is not None:
        text += f" ± {format_number(deviation, beside=value)}"
    if (difference := comparison.difference(row, metric)) is not None:
        text += f" ({format_number(difference, sign='+', beside=value)})"
    return text + " (other data)" * comparison.has_other_data(row, metric)


def _write_csv(comparison: Comparison, path: Path) -> None:
    """Write every number whole: one column per differing parameter, and mean, sd and difference of each metric.

    Where rows have seeds in common, also what these say in pairs.
    """
    params = list(dict.fromkeys(key for row in comparison.rows for key in row.changes))
    reference = comparison.rows[0].runs[0].params
    paired = any(comparison.pairs(row, metric) for row in comparison.rows for metric in comparison.columns)
    rows = []
    for row in comparison.rows:
        fields: dict[str, Any] = {"experiment": row.names, "state": row.runs[0].state, "n": len(row.runs)}
        fields["seed"] = " ".join(str(seed) for seed in row.seeds)
        fields |= {key: written(row.changes.get(key, reference.get(key))) for key in params}
        for metric in comparison.columns:
            fields[metric] = row.mean(metric)
            fields[f"{metric}_sd"] = row.deviation(metric)
            fields[f"{metric}_difference"] = comparison.difference(row, metric)
            if paired:
                fields |= {f"{metric}_paired_{name}": value for name, value in _pair_fields(comparison, row, metric)}
        rows.append(fields)
    write_csv(path, rows, list(rows[0]))


def _pair_fields(comparison: Comparison, row: Row, metric: str) -> list[tuple[str, Any]]:
    pairs = comparison.pairs(row, metric)
    if pairs is None:
        return [(name, None) for name in ("n", "difference", "low", "high", "p", "by_seed")]
    low, high = pairs.interval or (None, None)
    by_seed = " ".join(f"{seed}:{difference}" for seed, difference in pairs.differences.items())
    fields = {"n": len(pairs.differences), "difference": pairs.mean, "low": low, "high": high, "p": pairs.p}
    return [*fields.items(), ("by_seed", by_seed)]


def _curve(comparison: Comparison, row: Row) -> Curve | None:
    """Return the mean curve of a row over the steps that all its runs have, None where there is no step."""
    steps = [step for step in row.runs[0].curve if all(step in run.curve for run in row.runs)]
    if not steps:
        return None
    losses = [[run.curve[step] for run in row.runs] for step in steps]
    name = row.runs[0].name
    if len(row.runs) > 1:
        name = f"{row.runs[0].configuration} (n = {len(row.runs)})"
    if row.runs[0].state != "done":
        name += f" ({row.runs[0].state})"
    name += _others(comparison, row)
    spread = [stdev(values) if len(values) > 1 else 0.0 for values in losses]
    return Curve(name, brief(comparison.own(row)), steps, list(map(mean, losses)), spread)


def _seed_curves(comparison: Comparison, row: Row) -> SeedCurves | None:
    """Return the curves of a row's runs, None where less than two have one."""
    curves = [run.curve for run in row.runs if run.curve]
    if len(curves) < 2:
        return None
    return SeedCurves(row.names + _others(comparison, row), brief(comparison.own(row)), curves)


def _others(comparison: Comparison, row: Row) -> str:
    """Return a remark where the row was scored on another validation set than the reference row."""
    return "" if same_data(row.runs[0], comparison.rows[0].runs[0], "") else " (other data)"
