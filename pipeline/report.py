"""Write a run, or several beside each other, as one page."""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from maskline.core.errors import UserError
from pipeline.cli import run, say


def main(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Runs as folders, each with its params.yaml and reports/; several are compared, the reference first. "
            "Without any, the run in this folder.",
        ),
    ] = None,
    experiments: Annotated[bool, typer.Option("--experiments", help="Compare the experiments of DVC.")] = False,
    rev: Annotated[
        list[str] | None,
        typer.Option(help="With --experiments: add those that were started from another commit; may be repeated."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="The name of the run that others are held against, as it stands in the table.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Serve the page of this folder on this machine, with what trains right now.")
    ] = False,
    port: Annotated[int, typer.Option(help="With --live: where; 0 takes one that is free.", min=0, max=65535)] = 8600,
    out: Annotated[Path, typer.Option(help="The file to write.", dir_okay=False)] = Path("reports/report.html"),
) -> None:
    """Write a page that shows a run, or several over each other: one file that needs no network.

    Of a run it has parameters, corpus, tokenizer, curves, numbers, tasks, samples and provenance.
    """
    from maskline.page.document import MOST_BYTES, check_installed, render

    check_installed()
    if live:
        if folders or experiments or rev or reference:
            raise UserError("--live shows what trains in this folder: leave the other runs out")
        _serve(port)
        return
    if folders and experiments:
        raise UserError("--experiments takes those of DVC: leave it out, or leave out the folders")
    if rev and not experiments:
        raise UserError("--rev names commits of DVC experiments: add --experiments")
    several = experiments or len(folders or []) > 1
    if reference and not several:
        raise UserError("--reference names one of several runs: give more than one, or --experiments")
    page = _compared(folders or [], rev or [], reference) if several else _alone((folders or [Path()])[0])

    from maskline.core.storage import write_text

    content = render(page)
    write_text(out, content)
    typer.echo(out)
    if (size := len(content.encode())) > MOST_BYTES:
        say(f"{out} has {size:,} bytes, more than the {MOST_BYTES:,} that a mail takes: its curves are many", err=True)


def _serve(port: int) -> None:
    from maskline.page.live import Watch
    from maskline.page.serve import HOST, NICENESS, Server
    from maskline.settings.params import settings_files

    os.nice(NICENESS)
    watch = Watch(Path(), settings_files, _committed(Path()))
    watch.page()  # what is loaded once is loaded before anybody waits
    with Server(watch, port) as server:
        say(f"http://{HOST}:{server.server_port}/ shows what trains here, until Ctrl-C")
        server.serve_until_stopped()
    say("stopped")


def _alone(folder: Path) -> Any:
    from maskline.page.run import run_page
    from maskline.page.source import Source
    from maskline.settings.params import settings_files

    return run_page(Source(folder, settings_files(folder), _committed(folder)))


def _committed(folder: Path) -> dict[str, Any] | None:
    """Return the settings that are committed in a folder, None where none are."""
    from maskline.page.committed import write_committed
    from maskline.settings.params import PARAMS, TASKS, settings_files

    with TemporaryDirectory() as copy:
        return settings_files(Path(copy)) if write_committed(folder, [str(PARAMS), TASKS], Path(copy)) else None


def _compared(folders: Sequence[Path], rev: Sequence[str], reference: str | None) -> Any:
    from maskline.page.comparison import comparison_page
    from maskline.reporting.comparison import compare
    from maskline.reporting.runs import read_experiments, read_folder
    from maskline.settings.params import settings_files

    notes: list[str] = []
    if folders:
        names = [folder.resolve().name for folder in folders]
        named = names if len(set(names)) == len(names) else list(map(str, folders))
        runs = [read_folder(folder, settings_files(folder), name) for folder, name in zip(folders, named, strict=True)]
    else:
        runs, notes = read_experiments(["HEAD", *rev])
    return comparison_page(compare(runs, reference, notes))


if __name__ == "__main__":
    run(main)
