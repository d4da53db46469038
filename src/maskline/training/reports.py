"""What a finished run leaves in its folder of reports."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maskline.core.storage import GAP, write_csv, write_json
from maskline.training.loop import Objective, Progress


def write_reports(
    directory: Path, progress: Progress, objective: Objective, steps: int, more: Mapping[str, Any]
) -> dict[str, Any]:
    """Write the two curves and the metrics of a run of `steps` planned updates; return the metrics.

    `more` is what they hold beside the scores and the number of updates.
    """
    write_csv(directory / "train.csv", progress.train, objective.train_columns, missing=GAP)
    write_csv(directory / "validation.csv", progress.validation, objective.validation_columns, missing=GAP)
    metrics = {"best": progress.best_row(), "last": progress.validation[-1], "steps": progress.step, **more}
    if progress.step < steps:
        metrics["planned_steps"] = steps
    write_json(directory / "metrics.json", metrics)
    return metrics
