"""Print what a run reached, each number beside what it is held against."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import run


def main(
    reports: Annotated[Path, typer.Option(help="Where the stages wrote metrics and figures.", file_okay=False)] = Path(
        "reports"
    ),
) -> None:
    """Print the table of results, the time that each stage took, and where the figures are."""
    from rich.console import Console

    from maskline.reporting.tables import read_metrics, read_seconds, results

    Console(highlight=False).print(results(read_metrics(reports / "evaluate" / "metrics.json")))
    # Not those of reports/presets: they are of other runs.
    for path in sorted([*reports.glob("*/timing.json"), *reports.glob("finetune/*/timing.json")]):
        seconds = read_seconds(path)
        typer.echo(f"{path.parent.relative_to(reports)}: {seconds:.0f} s")
    for path in sorted((reports / "figures").glob("*.png")):
        typer.echo(path)


if __name__ == "__main__":
    run(main)
