"""How each test example came out: a table without texts, and a page of some examples to read."""

from collections.abc import Sequence
from pathlib import Path

from maskline.core.storage import write_csv, write_text
from maskline.core.text import escape
from maskline.finetuning.task import Case

PREDICTIONS, PAGE = "predictions.csv", "examples.md"
COLUMNS = ("id", "gold", "predicted", "probability")
SHOWN, WORST = 5, 10
"""Examples of a section of the page; and of that of the worst."""
LONGEST = 600
"""Characters of a text that the page shows."""


def write_cases(directory: Path, name: str, ids: Sequence[str], cases: Sequence[Case]) -> None:
    """Write the table and the page of the task `name`; `ids` are those of the examples, one for each case."""
    rows = [
        {"id": id_, "gold": case.gold, "predicted": case.predicted, "probability": case.probability}
        for id_, case in zip(ids, cases, strict=True)
    ]
    write_csv(directory / PREDICTIONS, rows, COLUMNS)
    write_text(directory / PAGE, _page(name, ids, cases))


def _page(name: str, ids: Sequence[str], cases: Sequence[Case]) -> str:
    """Return a Markdown page: some that are right, some that are wrong, from all over the split, and the worst."""
    order = sorted(range(len(cases)), key=lambda row: ids[row])
    right = [row for row in order if not cases[row].error]
    wrong = [row for row in order if cases[row].error]
    sections = {
        f"Right ({len(right):,})": _spread(right),
        f"Wrong ({len(wrong):,})": _spread(wrong),
        "The worst of the wrong": sorted(wrong, key=lambda row: -cases[row].error)[:WORST],
    }
    lines = [
        f"# {escape(name)}: examples of the test split",
        "",
        "What is true, what the model says, and how sure it is.",
    ]
    for title, rows in sections.items():
        lines += ["", f"## {title}"]
        for row in rows:
            lines += ["", *_example(ids[row], cases[row])]
    return "\n".join(lines) + "\n"


def _example(id_: str, case: Case) -> list[str]:
    sure = "" if case.probability is None else f", {case.probability:.3f}"
    text = case.text if len(case.text) <= LONGEST else case.text[:LONGEST] + "…"
    return [
        f"**{escape(case.gold)}**, predicted {escape(case.predicted)}{sure} ({escape(id_)})",
        "",
        f"> {escape(text)}",
    ]


def _spread(rows: Sequence[int]) -> list[int]:
    """Return up to `SHOWN` of `rows`, at equal distances."""
    size = min(SHOWN, len(rows))
    return [rows[number * len(rows) // size] for number in range(size)]
