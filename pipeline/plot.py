"""Draw the curves and matrices of a run."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import OutputDirectory, run


def main(
    reports: Annotated[Path, typer.Option(help="Where the stages wrote metrics and curves.", file_okay=False)] = Path(
        "reports"
    ),
    out: OutputDirectory = Path("reports/figures"),
) -> None:
    """Draw pretraining losses, fine-tuning curves and confusion matrices, each as SVG and PNG."""
    from maskline.reporting.figures import plot_reports

    plot_reports(reports, out)


if __name__ == "__main__":
    run(main)
