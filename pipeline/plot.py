"""Draw the curves and tables of a run."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import OutputDirectory, ParamsFile, run, timed


def main(
    params: ParamsFile = Path("params.yaml"),
    reports: Annotated[Path, typer.Option(help="Where the stages wrote metrics and curves.", file_okay=False)] = Path(
        "reports"
    ),
    out: OutputDirectory = Path("reports/figures"),
) -> None:
    """Draw pretraining losses, and the curves and tables of each task that is switched on, as SVG and PNG.

    The reports of tasks that are switched off are removed.
    """
    from maskline.settings.params import load

    settings = load(params)

    from maskline.reporting.figures import plot_reports

    with timed("plot"):
        plot_reports(reports, list(settings.tasks), out)


if __name__ == "__main__":
    run(main)
