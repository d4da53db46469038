"""The scores of a run, read: those of pretraining, then those of each task that is switched on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from maskline.core.errors import UserError
from maskline.core.scores import METRICS, REPORT, CurveSpec, FigureSpec, Headline, Report
from maskline.core.storage import read_json

EVALUATE = "evaluate"
TASKS = "tasks"
SCORE = "score"
_AGAIN = "run `dvc repro` to write it again"


@dataclass(frozen=True)
class Scores:
    """Numbers, and how to show them."""

    metrics: Mapping[str, float | None]
    """Dotted key -> number, None where there is none."""
    report: Report

    def name(self, headline: Headline) -> str:
        """Return what the number is called beside those of other reports."""
        return f"{self.report.title} {headline.name}".strip()


def folders(tasks: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return where scores lie under reports/: "" for pretraining, and each task -> its metrics and its report."""
    return {"": (f"{EVALUATE}/{METRICS}", f"{EVALUATE}/{REPORT}")} | {
        task: (f"{TASKS}/{task}/{METRICS}", f"{TASKS}/{task}/{SCORE}/{REPORT}") for task in tasks
    }


def read_scores(reports: Path, tasks: Iterable[str]) -> dict[str, Scores]:
    """Return the scores of the run under `reports`: "" for pretraining, and each of `tasks` -> its own.

    Raises:
        UserError: a file is missing, or holds something else.
    """
    return {name: read_task(reports, name) for name in folders(tasks)}


def read_task(reports: Path, task: str) -> Scores:
    """Return the scores of a task, or, for "", those of pretraining.

    Raises:
        UserError: a file is missing, or holds something else.
    """
    metrics, report = (reports / path for path in folders([task] if task else [])[task])
    return to_scores(read_json(metrics), read_json(report), str(metrics), str(report))


def to_scores(metrics: Any, report: Any, metrics_name: str, report_name: str) -> Scores:
    """Return what two JSON files hold as scores; they are named in errors.

    Raises:
        UserError: one holds something else.
    """
    if not isinstance(metrics, Mapping):
        raise UserError(f"{metrics_name} has no metrics by name: {_AGAIN}")
    flat = flatten(metrics)
    for key, value in flat.items():
        if value is not None and not isinstance(value, int | float):
            raise UserError(f"{metrics_name}: {key} is {value!r}, no number: {_AGAIN}")
    try:
        return Scores(
            flat,
            Report(
                report["title"],
                _made(Headline, report["headlines"]),
                _made(FigureSpec, report["figures"]),
                _made(CurveSpec, report["curves"]),
            ),
        )
    except (KeyError, TypeError) as error:
        raise UserError(f"{report_name} is no report of scores ({error}): {_AGAIN}") from None


def _made(kind: type[Any], contents: Sequence[Mapping[str, Any]]) -> list[Any]:
    names = {field.name for field in fields(kind)}
    return [kind(**{name: value for name, value in content.items() if name in names}) for content in contents]


def flatten(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the leaves of nested mappings under dotted keys; lists are leaves."""
    leaves: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, Mapping):
            leaves |= flatten(value, f"{prefix}{key}.")
        else:
            leaves[f"{prefix}{key}"] = value
    return leaves
