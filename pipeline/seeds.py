"""Run one configuration under several seeds."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import run, say


def main(
    count: Annotated[int, typer.Argument(metavar="N", help="How many seeds: 0 to N - 1.")],
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STAGE]...", help="Where to stop, as for `dvc repro`; without any, all but `plot` runs."
        ),
    ] = None,
    set_param: Annotated[
        list[str] | None, typer.Option("--set-param", "-S", help="A parameter to change, as for `dvc exp run`.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", "-n", help="What the experiments are called, before `-seed0`.")
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Runs side by side; the cores are divided between them.")
    ] = 1,
) -> None:
    """Run one configuration under N seeds, each of them an experiment of DVC, and print what they reached.

    It works in copies of the project, with uncommitted changes. Interrupted or killed, the same command goes on where
    it was; seeds that are done are not run again.
    """
    from maskline.experiments.seeds import Request, Seeds
    from maskline.reporting.runs import read_folder
    from maskline.reporting.seeds import seeds_table
    from maskline.settings.files import read_yaml
    from maskline.settings.params import PARAMS, parse, settings_files, task_files

    def read(folder: Path) -> dict[str, object]:
        content = read_yaml(folder / PARAMS)
        parse(content, task_files(content, folder / PARAMS))
        return settings_files(folder)

    seeds = Seeds(Request(count, targets or [], set_param or [], name, jobs), read, say)
    outcome = seeds.run()
    runs = []
    for experiment in outcome.done.values():
        with seeds.open(experiment) as folder:
            runs.append(read_folder(folder, settings_files(folder), experiment.name))
    if runs:
        typer.echo(f"\n{seeds_table(runs, shutil.get_terminal_size().columns if sys.stdout.isatty() else None)}")
    if outcome.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    run(main)
