"""Numbers in rows: how one is written, Markdown, and the table that a run ends with."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskline.errors import UserError
from maskline.storage import read_json

if TYPE_CHECKING:
    from rich.table import Table

ABSENT = "—"
_ANEW = "run `dvc repro` to write it anew"


def format_number(value: float | None, *, sign: str = "", beside: float | None = None) -> str:
    """Return three decimals, e-notation where they would say nothing, a dash where there is no number.

    `sign` is "+" to write that sign too; a number that stands `beside` another takes its notation.
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    size = abs(value if beside is None else beside)
    return f"{value:{sign}.3f}" if size == 0 or 1e-3 <= size < 1e4 else f"{value:{sign}.2e}"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool]) -> str:
    """Return a Markdown table, aligned to be read as plain text too; `numeric` columns align right."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (header, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    rules = ["-" * (width - right) + ":" * right for width, right in zip(widths, numeric, strict=True)]
    lines = [
        "| " + " | ".join(_align(*cell) for cell in zip(row, widths, numeric, strict=True)) + " |"
        for row in (cells[0], rules, *cells[1:])
    ]
    return "\n".join(lines) + "\n"


def _align(cell: str, width: int, right: bool) -> str:
    return cell.rjust(width) if right else cell.ljust(width)


BASELINES = {
    "mlm": {
        "loss": ("MLM loss (nats)", [("unigram_loss", "unigram frequencies")]),
        "accuracy": ("MLM accuracy", [("unigram_accuracy", "most frequent token")]),
        "perplexity": ("MLM perplexity", []),
    },
    "nsp": {
        "accuracy": ("NSP accuracy", [("overlap_accuracy", "word overlap"), ("length_accuracy", "sentence lengths")]),
    },
}
"""Section of reports/evaluate/metrics.json -> metric -> its name, and keys and names of what it is held against."""

TASK_BASELINES = {
    "accuracy": (
        "accuracy",
        [
            ("scratch_accuracy", "without pretraining"),
            ("tfidf_accuracy", "TF-IDF + logistic regression"),
            ("majority_accuracy", "majority class"),
        ],
    ),
    "macro_f1": (
        "macro-F1",
        [("scratch_macro_f1", "without pretraining"), ("tfidf_macro_f1", "TF-IDF + logistic regression")],
    ),
}


def read_metrics(path: Path) -> dict[str, dict[str, float | None]]:
    """Return `reports/evaluate/metrics.json`: section -> metric -> number, None where there is none.

    Raises:
        UserError: the file is missing, or holds something else.
    """
    content = read_json(path)
    sections = content if isinstance(content, dict) else {"": content}
    for section, values in sections.items():
        if not isinstance(values, dict):
            raise UserError(f"{path} has no metrics by name{f' in {section}' if section else ''}: {_ANEW}")
        for metric, value in values.items():
            if value is not None and not isinstance(value, int | float):
                raise UserError(f"{path}: {section}.{metric} is {value!r}, no number: {_ANEW}")
    return sections


def read_seconds(path: Path) -> float:
    """Return how long a stage took, from its timing.json: the sum of `seconds`, or of those of its parts.

    Raises:
        UserError: the file holds something else.
    """
    content = read_json(path)
    try:
        return float(sum(value for key, value in content.items() if key.endswith("seconds")))
    except (AttributeError, TypeError):
        raise UserError(f"{path} has no seconds by name: {_ANEW}") from None


def result_rows(metrics: Mapping[str, Any]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return what `reports/evaluate/metrics.json` holds: name, number, and the numbers and names it is held against."""
    return [
        (
            name if section in BASELINES else f"{section} {name}",
            format_number(values[metric]),
            [(format_number(values.get(key)), text) for key, text in baselines],
        )
        for section, values in metrics.items()
        for metric, (name, baselines) in BASELINES.get(section, TASK_BASELINES).items()
        if metric in values
    ]


def results_markdown(metrics: Mapping[str, Any]) -> str:
    """Return the Markdown table of `reports/evaluate/metrics.json`: each number beside what makes it readable."""
    rows = [
        (name, number, ", ".join(f"{text} {baseline}" for baseline, text in against))
        for name, number, against in result_rows(metrics)
    ]
    return markdown(("measured", "maskline", "held against"), rows, (False, True, False))


def results(metrics: Mapping[str, Any]) -> "Table":
    """Return the same as a Rich table."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title="Results", title_justify="left")
    table.add_column("measured")
    table.add_column("maskline", justify="right", style="bold")
    table.add_column("held against", justify="right")
    table.add_column("")
    for name, number, against in result_rows(metrics):
        table.add_row(name, number, "\n".join(value for value, _ in against), "\n".join(text for _, text in against))
    return table
