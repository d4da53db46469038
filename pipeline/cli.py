"""What every command shares: options, one-line errors, exit codes."""

import errno
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from maskline.errors import UserError

ParamsFile = Annotated[Path, typer.Option("--params", help="The parameters.", dir_okay=False)]
InputDirectory = Annotated[Path, typer.Option(help="A directory that an earlier stage wrote.", file_okay=False)]
OutputDirectory = Annotated[Path, typer.Option(help="Where to write; replaced when it exists.", file_okay=False)]

INTERRUPTED = 130
"""What typer makes of Ctrl-C, as shells do: 128 and the number of the signal."""


def run(main: Callable[..., None]) -> None:
    """Run `main` as a command: a fault of the user's is one line on stderr and exit code 1, without a traceback."""
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show must not end a run
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(epilog="With --debug, an error shows its traceback.")(main)
    try:
        app()
    except (UserError, OSError) as error:
        if debug:
            raise
        typer.echo(f"error: {_explain(error)}", err=True)
        raise SystemExit(1) from None
    except SystemExit as end:
        if end.code == INTERRUPTED:
            typer.echo("interrupted: run the same command again", err=True)
        raise


def _explain(error: UserError | OSError) -> str:
    if isinstance(error, UserError):
        return str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full ({error.filename or 'while writing'}): make room and run the same command again"
    return f"{error.filename or 'the system'}: {error.strerror or error}; --debug shows what was tried"
