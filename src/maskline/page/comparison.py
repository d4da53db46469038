"""The page of a comparison: several runs over each other, in a table that sorts, and in pairs of the same seed."""

from collections.abc import Mapping
from typing import Any

from maskline.page import changes, figures
from maskline.page.curves import known, number
from maskline.page.document import Figure, Page, Section, Table, controls, grid, place
from maskline.page.elements import Cell, code, folded, paragraph, text
from maskline.page.elements import table as html_table
from maskline.page.training import PANELS
from maskline.reporting.comparison import Comparison, Row, same_data, written
from maskline.reporting.comparison_page import PAIRED, brief, cell_text, drawings, levelled, seeds_text
from maskline.reporting.runs import MLM, SEED, TOKENS
from maskline.reporting.seeds import ARROWS, range_text
from maskline.reporting.style import drawn, theme
from maskline.reporting.tables import ABSENT, format_number


def comparison_page(comparison: Comparison) -> Page:
    """Return the page of a comparison."""
    count = sum(len(row.runs) for row in comparison.rows)
    lead = paragraph(
        f"{count} runs in {len(comparison.rows)} configurations; held against {text(comparison.rows[0].names)}.", "soft"
    )
    tasks = dict.fromkeys(["", *(task for row in comparison.rows for run in row.runs for task in run.curves)])
    parts = [curves(comparison, task, place_) for place_, task in enumerate(tasks)]
    sections = [table(comparison), *parts, pairs(comparison), parameters(comparison)]
    return Page("Runs of maskline, compared", lead, [section for section in sections if section is not None])


def table(comparison: Comparison) -> Section:
    """Return a row for each configuration: what was changed, and what came out."""
    header = ["experiment", "changed", "seeds", "state"]
    header += [f"{text(column.title)} {ARROWS[column.better]}" for column in comparison.columns.values()]
    rows = [
        [
            text(row.names),
            text(brief(comparison.own(row)) or ABSENT),
            Cell(text(seeds_text(row)), len(row.runs), number=True),
            text(row.runs[0].state),
            *(Cell(text(cell_text(comparison, row, key)), row.mean(key), number=True) for key in comparison.columns),
        ]
        for row in comparison.rows
    ]
    content = ""
    if comparison.shared:
        content += paragraph(f"All but {text(comparison.rows[0].names)} have {text(brief(comparison.shared))}.")
    content += html_table("A row for each configuration", header, rows, sortable=True)
    content += paragraph(
        "Arrows point to the better side. In brackets: the difference to the reference, where both were scored on the "
        "same data. Where a row has several seeds: mean ± sample standard deviation.",
        "soft",
    )
    content += "".join(paragraph(text(note), "note") for note in comparison.notes)
    return Section("experiments", "Experiments", content)


def curves(comparison: Comparison, task: str, place_: int) -> Section | None:
    """Return the validation curves of a task, or, for "", of pretraining, over each other; None where there is none.

    Every seed is a line, and a band reaches from the lowest to the highest.
    """
    scores = {name: None for row in comparison.rows for run in row.runs for name in run.curves.get(task, {})}
    shown = [
        figure
        for number_, name in enumerate(scores)
        if name != TOKENS and (figure := _curve(comparison, task, name, f"curves-{place_}-{number_}"))
    ]
    if not shown:
        return None
    caption = "A line for each seed, every point as measured; bands reach from the lowest to the highest seed."
    title = f"Fine-tuning: {task}" if task else "Pretraining"
    content = controls(shown) + grid(shown) + paragraph(caption, "soft")
    if task:
        content += "<noscript><p>These curves need scripts.</p></noscript>"
    return Section(f"curves-{place_}", title, content, shown, () if task else _pictures(comparison))


def _curve(comparison: Comparison, task: str, score: str, key: str) -> Figure | None:
    level = levelled(comparison) if (task, score) == ("", MLM) else None
    comparison = level or comparison
    rows: list[list[Any]] = []
    bands: list[list[Any]] = []
    for row in comparison.rows:
        name = _short(comparison, row, task)
        runs = [(run, curve) for run in row.runs if (curve := run.curves.get(task, {}).get(score))]
        for run, curve in runs:
            tokens = {} if task else run.curves[""].get(TOKENS, {})
            rows += [
                [name, str(run.params.get(SEED)), number(value), number(step), number(tokens.get(step)), None]
                for step, value in curve.items()
            ]
        if len(runs) > 1:
            tokens = {} if task else runs[0][0].curves[""].get(TOKENS, {})
            for step in (step for step in runs[0][1] if all(step in curve for _, curve in runs)):
                values = [curve[step] for _, curve in runs]
                bands.append([name, number(step), number(tokens.get(step)), min(values), max(values)])
    if not rows:
        return None
    title, unit = (score, f"{score} (validation split)") if task else PANELS[score]
    if level:
        title, unit = f"{title}, less that of unigram frequencies", "nats"
    return figures.overlaid(
        key,
        title,
        unit,
        list(dict.fromkeys(_short(comparison, row, task) for row in comparison.rows)),
        known(("series", "seed", "value", "step", "tokens", "seconds"), rows),
        Table(("series", "step", "tokens", "low", "high"), bands),
        is_loss=score.endswith("loss") and level is None,  # a difference may be negative
    )


def _pictures(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the curves as SVG, whose letters the browser draws, for where scripts are off."""
    import matplotlib as mpl

    with theme():
        mpl.rcParams["svg.fonttype"] = "none"
        pictures = [(title, drawn(figure, "svg").decode()) for title, figure in drawings(comparison) if figure]
    return [(title, svg[svg.index("<svg") :]) for title, svg in pictures]


def _short(comparison: Comparison, row: Row, task: str = "") -> str:
    """Return what a row is called beside its curve of a task: its changes, or its name where it has none of its own.

    Both where another row has the same changes; and that it was scored on other data than the reference.
    """
    changes = brief(comparison.own(row))
    several = sum(comparison.own(other) == comparison.own(row) for other in comparison.rows) > 1
    name = (f"{row.names}: {changes}" if several else changes) if changes else row.names
    name += f" (n = {len(row.runs)})" if len(row.runs) > 1 else ""
    return name if same_data(row.runs[0], comparison.rows[0].runs[0], task) else f"{name} (other data)"


def pairs(comparison: Comparison) -> Section | None:
    """Return the differences of runs with the same seed, None where no configuration has two in common."""
    shown: list[Figure] = []
    rows = []
    verdicts: dict[str, None] = {}
    for place_, (metric, column) in enumerate(comparison.columns.items()):
        points: list[tuple[Any, ...]] = []
        beside = comparison.rows[0].mean(metric)
        for row in comparison.rows[1:]:
            found = comparison.pairs(row, metric)
            if found is None:
                continue
            name = _short(comparison, row)
            low, high = found.interval or (None, None)
            points += [(name, str(seed), value, None, None) for seed, value in found.differences.items()]
            points.append((name, None, found.mean, low, high))
            rows.append(
                [
                    text(name),
                    f"{text(column.title)} {ARROWS[column.better]}",
                    Cell(str(len(found.differences)), len(found.differences), number=True),
                    Cell(format_number(found.mean, sign="+", beside=beside), found.mean, number=True),
                    Cell(range_text(found.interval, beside, sign="+"), low, number=True),
                    Cell(format_number(found.p), found.p, number=True),
                    ", ".join(
                        f"{text(seed)}: {format_number(value, sign='+', beside=beside)}"
                        for seed, value in found.differences.items()
                    ),
                ]
            )
            if found.verdict:
                verdicts[f"{text(name)}: {text(found.verdict)}."] = None
        if points:
            title = f"{column.title} {ARROWS[column.better]}"
            shown.append(figures.differences(f"pairs-{place_}", title, points))
    if not rows:
        return None
    header = ("experiment", "measured", "seeds", "mean difference", "95 % interval", "p", "by seed")
    content = f'<div class="grid">{"".join(map(place, shown))}</div>'
    content += html_table("Differences to the reference, by seed", header, rows, sortable=True)
    content += paragraph(f"Points: seeds. Bar: mean and its interval of 95 %. {text(PAIRED)}", "soft")
    content += "".join(paragraph(verdict, "note") for verdict in verdicts)
    return Section("pairs", "Pairs of runs with the same seed", content, shown)


def parameters(comparison: Comparison) -> Section:
    """Return each parameter that differs, and the commands that set them."""
    reference = comparison.rows[0].runs[0].params
    runs = [row.runs[0].params for row in comparison.rows]
    keys = changes.shown(dict.fromkeys(key for row in comparison.rows for key in row.changes), *runs)
    rows = [[code(key), *(code(written(params.get(key))) for params in runs)] for key in keys]
    header = ["parameter", *(text(row.names) for row in comparison.rows)]
    content = html_table("Parameters that differ", header, rows) if keys else paragraph("None differs.")
    commands = "".join(
        f"<li>{text(row.names)}, seed {text(seeds_text(row))}: {_command(row, reference)}</li>"
        for row in comparison.rows[1:]
    )
    return Section(
        "parameters",
        "What differs",
        content + (folded("Commands", f"<ul>{commands}</ul>", "commands") if commands else ""),
    )


def _command(row: Row, reference: Mapping[str, Any]) -> str:
    """Return the command that repeats a row; of several seeds, without their number."""
    params = row.runs[0].params
    seed = [SEED] if len(row.runs) == 1 and params.get(SEED) != reference.get(SEED) else []
    return code(changes.command([*row.changes, *seed], params, reference))
