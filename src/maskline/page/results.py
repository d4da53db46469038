"""Sections of the page of a run: its numbers, its tasks and what the model says."""

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_csv, read_json
from maskline.page import figures
from maskline.page.cells import field_cell, score_cell, whole
from maskline.page.curves import number
from maskline.page.document import Section, place
from maskline.page.elements import Cell, card_grid, code, paragraph, text
from maskline.page.elements import table as html_table
from maskline.page.markdown import cards
from maskline.page.source import Source
from maskline.reporting.scores import SCORE, TASKS, flatten, read_task
from maskline.reporting.tables import PREDICTIONS, format_number

MOST_TABLE = 60
"""Rows of a table of a task that the page shows."""


def numbers(source: Source) -> Section:
    """Return the headline numbers, each beside what it is held against, with n and interval."""
    parts, missing = source.scores()
    rows: list[list[object]] = []
    drawn: list[tuple[object, ...]] = []
    for part in parts.values():
        for headline in part.report.headlines:
            value = number(part.metrics.get(headline.metric))
            if value is None:  # as NSP where no pairs were trained on
                continue
            low, high = (number(part.metrics.get(f"{headline.metric}_{end}")) for end in ("low", "high"))
            count = part.metrics.get(headline.count) if headline.count else None
            held = [(name, number(part.metrics.get(key))) for key, name in headline.against.items()]
            name = part.name(headline)
            rows.append(
                [
                    text(name) + (" ↑" if headline.better == "higher" else " ↓"),
                    score_cell(value),
                    "" if low is None or high is None else f"{low:.3f} to {high:.3f}",
                    Cell("" if count is None else whole(count), count, number=True),
                    "<br>".join(f"{format_number(other)} {text(name)}" for name, other in held),
                ]
            )
            if low is not None and 0 <= value <= 1:
                drawn.append((name, "maskline", value, low, high))
                drawn += [(name, other, number_, None, None) for other, number_ in held if number_ is not None]
    content = html_table(
        "Measured on examples that nothing was trained on; the arrow points to the better side",
        ("measured", "maskline", "95 % interval", "n", "held against"),
        rows,
    )
    shown = []
    if drawn:
        note = "Point and bar: maskline and its interval of 95 %. Grey marks: what it is held against."
        shown.append(figures.scores("scores", "Scores beside what they are held against", drawn, note))
    content += "".join(map(place, shown)) + "".join(paragraph(text(line), "note") for line in missing)
    return Section("numbers", "Numbers and what they are held against", content, shown)


def task_page(source: Source, task: str, place_: int) -> Section:
    """Return the figures and tables of a task, and examples of its test split."""
    folder = source.reports / TASKS / task / SCORE
    report = read_task(source.reports, task).report
    drawn = [
        figures.SHAPES[spec.shape](f"task-{place_}-{number_}", spec.title, spec, read_csv(folder / spec.table))
        for number_, spec in enumerate(report.figures)
    ]
    content = paragraph(f"Test split, from pretrained weights. Examples came from {_dataset(source, task)}.")
    beside = "".join(map(place, drawn))
    long = {PREDICTIONS, *(spec.table for spec in report.figures if spec.shape in {"matrix", "scatter"})}
    for path in sorted(folder.glob("*.csv")):
        rows = read_csv(path)
        if path.name in long or not rows or len(rows) > MOST_TABLE:
            continue
        fields = [[field_cell(value) for value in row.values()] for row in rows]
        caption = f"{task}: {path.stem.replace('_', ' ')}"
        beside += html_table(caption, [text(name) for name in rows[0]], fields, sortable=True)
    content += f'<div class="grid">{beside}</div>'
    examples = folder / "examples.md"
    if examples.is_file():
        above, parts = cards(examples.read_text(encoding="utf-8"))
        content += paragraph("<b>Examples of the test split</b>") + above + card_grid(parts)
    pictures = [picture for spec in report.figures for picture in source.pictures(f"{task}-{spec.name}")]
    return Section(f"task-{place_}", f"Task: {task}", content, drawn, pictures)


def _dataset(source: Source, task: str) -> str:
    path = source.folder / "data" / TASKS / task / MANIFEST
    if not path.is_file():
        return f"the source that {code(f'tasks/{task}.yaml')} names"
    manifest = read_json(path)
    splits = ", ".join(f"{whole(s.get('examples'))} {text(name)}" for name, s in manifest.get("splits", {}).items())
    dropped = ", ".join(
        f"{whole(count)} {text(reason.replace('_', ' ').replace('.', ' '))}"
        for reason, count in flatten(manifest.get("dropped", {})).items()
        if count
    )
    facts = manifest.get("provenance", {})
    origin = " ".join(str(facts[key]) for key in ("source", "package", "dataset", "version") if facts.get(key))
    licence = f"; licence {text(manifest['licence'])}" if manifest.get("licence") else ""
    return f"{text(origin)}: {splits}; dropped: {dropped or 'none'}{licence}"


def samples(source: Source) -> Section:
    """Return what the pretrained model puts in place of masked words."""
    path = source.reports / "evaluate" / "samples.md"
    if not path.is_file():
        raise UserError(f"{path} is missing: run `dvc repro` to make it")
    above, parts = cards(path.read_text(encoding="utf-8"))
    return Section("samples", "What the model puts in place of a word", above + card_grid(parts))
