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

    from maskline.reporting.tables import results
    from maskline.storage import read_json

    Console(highlight=False).print(results(read_json(reports / "evaluate" / "metrics.json")))
    for path in sorted(reports.rglob("timing.json")):
        # One number per part of the stage: `seconds`, or `pretrained_seconds` and `scratch_seconds`.
        seconds = sum(value for key, value in read_json(path).items() if key.endswith("seconds"))
        typer.echo(f"{path.parent.relative_to(reports)}: {seconds:.0f} s")
    for path in sorted((reports / "figures").glob("*.png")):
        typer.echo(path)


if __name__ == "__main__":
    run(main)
