"""What every command shares: options, one-line errors, exit codes."""

import errno
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from maskline.errors import UserError

ParamsFile = Annotated[Path, typer.Option("--params", help="The parameters.", dir_okay=False)]
InputDirectory = Annotated[Path, typer.Option(help="A directory that an earlier stage wrote.", file_okay=False)]
OutputDirectory = Annotated[Path, typer.Option(help="Where to write; replaced when it exists.", file_okay=False)]


def run(main: Callable[..., None]) -> None:
    """Run `main` as a command: a fault of the user's is one line on stderr and exit code 1, without a traceback."""
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(epilog="With --debug, an error shows its traceback.")(main)
    try:
        app()
    except UserError as error:
        if debug:
            raise
        _fail(str(error))
    except OSError as error:
        if debug or error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _fail(f"the disk is full ({error.filename or 'while writing'}): make room and run the same command again")


def _fail(message: str) -> None:
    typer.echo(f"error: {message}", err=True)
    raise SystemExit(1)
