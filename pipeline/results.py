"""Print what a run reached, each number beside what it is held against."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import ParamsFile, run

UNLIMITED = 1_000_000
"""Columns that no table needs."""


def main(
    params: ParamsFile = Path("params.yaml"),
    reports: Annotated[Path, typer.Option(help="Where the stages wrote metrics and figures.", file_okay=False)] = Path(
        "reports"
    ),
    timings: Annotated[
        Path | None, typer.Option(help="Write the time of each stage to this JSON file.", dir_okay=False)
    ] = None,
) -> None:
    """Print the tables of results, the time that each stage took here, and where the figures are."""
    from rich.console import Console
    from rich.measure import Measurement

    from maskline.core.storage import TIMINGS, write_json
    from maskline.reporting.scores import SCORE, TASKS, read_scores
    from maskline.reporting.tables import details, read_seconds, results, results_lines
    from maskline.settings.params import load

    settings = load(params)
    scores = read_scores(reports, settings.tasks)
    console, table = Console(highlight=False), results(scores.values())
    needed = Measurement.get(console, console.options.update(max_width=UNLIMITED), table).maximum
    if not console.is_terminal:
        console.width = max(console.width, needed)  # a file has room
    # Cells that wrap would part the numbers from their names.
    console.print(table if console.width >= needed else results_lines(scores.values()))
    for task in settings.tasks:
        for table in details(task, reports / TASKS / task / SCORE, scores[task].report):
            needed = Measurement.get(console, console.options.update(max_width=UNLIMITED), table).minimum
            console.width = max(console.width, needed)  # a narrow terminal wraps the lines, and no number is cut
            console.print(table)
    stages = {path.stem: path for path in sorted(TIMINGS.glob("*.json"))}
    seconds = {
        stage: read_seconds(path)
        for stage, path in stages.items()
        if "@" not in stage or stage.partition("@")[2] in settings.tasks
    }
    for stage, taken in seconds.items():
        typer.echo(f"{stage}: {taken:.0f} s")
    for path in sorted((reports / "figures").glob("*.png")):
        typer.echo(path)
    if timings:
        write_json(timings, seconds)


if __name__ == "__main__":
    run(main)
