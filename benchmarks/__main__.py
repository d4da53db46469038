"""Run all benchmarks, or those that are named, each in a process of its own."""

import time
from importlib import import_module
from typing import Annotated

import typer

from benchmarks import BY_NAME_ALONE, SUBJECTS
from maskline.core.errors import UserError
from pipeline.cli import run


def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help=f"What to measure: {', '.join(SUBJECTS)}.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Run the long version of a subject that has one.")] = False,
) -> None:
    """Measure maskline against what a user would run otherwise, and print a table per subject.

    Without names, all subjects run but size and serve, which take long, retrieval, which needs Cranfield, and onnx,
    which needs STS-B and an imported encoder.

    Reports go to reports/benchmarks; summary.json there has the rows of all subjects. Run nothing else on the machine
    at the same time.
    """
    subjects = names or [name for name in SUBJECTS if name not in BY_NAME_ALONE]
    if unknown := sorted(set(subjects) - set(SUBJECTS)):
        raise UserError(f"there is no benchmark {', '.join(unknown)}: take {', '.join(SUBJECTS)}")
    if len(subjects) == 1:
        measure(subjects[0], full=full)
    else:
        measure_apart(subjects, full=full)


def measure(name: str, *, full: bool) -> None:
    """Measure one subject in this process, write its report and print its table."""
    from rich.console import Console

    from benchmarks import report

    module = import_module(f"benchmarks.{name}")
    function = getattr(module, "full_rows", None) if full else module.rows
    if function is None:
        raise UserError(f"{name} has no long version: leave out --full")
    started = time.perf_counter()
    report.write_subject(name, function(), time.perf_counter() - started)
    Console(highlight=False).print(report.table(name.replace("_", " "), report.rows(names=[name])))


def measure_apart(names: list[str], *, full: bool) -> None:
    """Measure each subject in a process of its own, so that none affects the next; then print all rows.

    Raises:
        UserError: a subject failed; the others were measured.
    """
    import subprocess
    import sys

    from rich.console import Console

    from benchmarks import report

    options = ["--full"] if full else []
    failed = [
        name
        for name in names
        if subprocess.run([sys.executable, "-m", "benchmarks", name, *options], check=False).returncode  # noqa: S603
    ]
    measured = [name for name in names if name not in failed]
    Console(highlight=False).print(report.table("all subjects", report.rows(names=measured)))
    if failed:
        raise UserError(f"{', '.join(failed)} could not be measured: see above")


if __name__ == "__main__":
    run(main)
