"""Compare experiments with the reference run."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from maskline.core.errors import UserError
from pipeline.cli import run


def main(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Runs as folders, each with its params.yaml and reports/, the reference first. Needs no git. "
            "Without any, the experiments of DVC are compared.",
        ),
    ] = None,
    rev: Annotated[
        list[str] | None,
        typer.Option(help="Add the experiments that were started from another commit than HEAD; may be repeated."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(help="The name of the run that the others are held against, as it stands in the table."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Where to write, without suffix: .md, .csv, .svg and .png are added.")
    ] = Path("reports/comparison"),
) -> None:
    """Show what each experiment changed, what came out, and the difference to the reference run.

    The reference is the committed run (HEAD), or the first folder, or what --reference names. Runs that differ by their
    seed alone become one row. Numbers that were measured on other data than the reference's stand without a difference.
    """
    from maskline.reporting.comparison import compare
    from maskline.reporting.comparison_page import to_text, write_comparison
    from maskline.reporting.runs import read_experiments, read_folder
    from maskline.settings.params import settings_files

    if folders and rev:
        raise UserError("--rev names commits of DVC experiments: leave it out, or leave out the folders")
    notes: list[str] = []
    if folders:
        runs = [read_folder(folder, settings_files(folder), str(folder)) for folder in folders]
    else:
        runs, notes = read_experiments(["HEAD", *(rev or [])])
    comparison = compare(runs, reference, notes)
    typer.echo(to_text(comparison, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    for path in write_comparison(comparison, out):
        typer.echo(path)


if __name__ == "__main__":
    run(main)
