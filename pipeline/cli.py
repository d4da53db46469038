"""What every command shares: options, one-line errors, exit codes."""

import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from maskline.core.errors import UserError
from maskline.core.text import printable, wrapped
from pipeline import INTERRUPTED, leave

ParamsFile = Annotated[Path, typer.Option("--params", help="The parameters.", dir_okay=False)]
InputDirectory = Annotated[Path, typer.Option(help="A directory that an earlier stage wrote.", file_okay=False)]
EncoderDirectory = Annotated[
    Path | None,
    typer.Option(help="A directory that an earlier stage wrote; without it, that of `encoder`.", file_okay=False),
]
OutputDirectory = Annotated[Path, typer.Option(help="Where to write; replaced when it exists.", file_okay=False)]

AGAIN_SECONDS = 1.0
"""How long after Ctrl-C a command that goes on is interrupted once more."""


SPINS = "1000"
"""How often a waiting thread looks before it sleeps: some microseconds."""


def run(main: Callable[..., None]) -> None:
    """Run `main` as a command: a fault of the user's is one line on stderr and exit code 1, without a traceback."""
    _read_utf8()
    _wait_briefly()
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show must not end a run
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(epilog="With --debug, an error shows its traceback.")(main)
    try:
        _check_system()
        _check_clone()
        with _interruptible():
            app()
    except (UserError, OSError, MemoryError, UnicodeEncodeError, ModuleNotFoundError) as error:
        if debug or _is_ours(error):
            raise
        # What goes wrong before torch is there goes wrong in every process of torchrun; see process_group for the rest.
        if _is_main() or "torch" in sys.modules:
            typer.echo(f"error: {printable(_explain(error))}", err=True)
        raise SystemExit(1) from None
    except SystemExit as end:
        if end.code == INTERRUPTED and _is_main():
            typer.echo("interrupted: run the same command again", err=True)
        raise


def _read_utf8() -> None:
    """Start this process again where Python takes arguments and names of files for ASCII, as in the locale C.

    Names in params.yaml are text, those of the system and arguments are bytes: only with an encoding that has all
    characters do they meet. A locale of another encoding stays.
    """
    if sys.getfilesystemencoding() == "ascii" and os.environ.get("PYTHONUTF8") != "1":
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {"PYTHONUTF8": "1"})  # noqa: S606


def _wait_briefly() -> None:
    """Let OpenMP's threads sleep soon while they wait for each other, as nothing has set it otherwise.

    By default they spin, and beside other work they take the time that the one they wait for needs (LOG.md). It is read
    when torch is loaded.
    """
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = SPINS


def _check_system() -> None:
    if not hasattr(signal, "SIGALRM"):
        raise UserError(f"maskline does not run on {sys.platform}: use Linux, macOS or WSL")


def _check_clone() -> None:
    """Refuse to work for nothing: of a shallow clone, DVC loses what it has run in a copy, without a word."""
    from maskline.core.storage import DVC_COPIES

    clone, copy, _ = Path.cwd().as_posix().partition(DVC_COPIES)
    above = (folder / ".git" for folder in (Path(clone), *Path(clone).parents))
    repository = next((folder for folder in above if folder.exists()), None)
    if copy and repository and (repository / "shallow").is_file():
        raise UserError(
            "this clone is shallow, and DVC loses what it runs there with --temp or in a queue: "
            "`git fetch --unshallow` first"
        )


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make sure that Ctrl-C ends the block, with the exit code that says so.

    Python drops a KeyboardInterrupt that arises where nothing can take it, in the callbacks of an import for example:
    it is raised again until the block has ended, and what ends by itself meanwhile counts as interrupted, so that DVC
    starts no further stage.
    """
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)}
    received = False

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal received
        received = True
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
        raise KeyboardInterrupt

    if former[signal.SIGINT] in {signal.default_int_handler, leave}:  # and not ignored, as in the background of a shell
        for number in former:
            signal.signal(number, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except SystemExit as end:
        if received and not end.code:
            raise SystemExit(INTERRUPTED) from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in former.items():
            signal.signal(number, signal.default_int_handler if handler is leave else handler)


def say(line: str, *, err: bool = False, indent: int = 2) -> None:
    """Print a line, on a terminal broken between words, with what steers a terminal taken out."""
    stream = sys.stderr if err else sys.stdout
    line = printable(line)
    typer.echo(wrapped(line, shutil.get_terminal_size().columns, indent) if stream.isatty() else line, err=err)


def say_written(manifest: Mapping[str, Any], out: Path) -> None:
    """Say how many texts have vectors, and how many of them the model did not read to the end."""
    typer.echo(f"{manifest['texts']:,} vectors of {manifest['dimensions']:,} numbers in {out}")
    if cut := manifest["cut"]:
        typer.echo(f"{cut:,} of {manifest['texts']:,} texts are longer than the model reads and were cut", err=True)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int], Callable[[int], None]]]:
    """Give what shows on a terminal how many of all are done, and how long the rest will take; one process shows it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not (sys.stderr.isatty() and _is_main())
    ) as bar:

        def begin(total: int) -> Callable[[int], None]:
            task = bar.add_task(what, total=total)
            return lambda done: bar.update(task, completed=done)

        yield begin


def counted(title: str, counts: Mapping[str, int | Mapping[str, int]]) -> str:
    """Return a line of counts that are not 0, below the line that they belong to; some are counts by name."""
    flat: dict[str, int] = {}
    for name, value in counts.items():
        flat |= {name: value} if isinstance(value, int) else {f"{name} {part!r}": n for part, n in value.items()}
    return f"  {title}: " + (", ".join(f"{n:,} {name}" for name, n in flat.items() if n) or "none")


def numbers(title: str, values: Mapping[str, float | None]) -> str:
    """Return a line of numbers by name."""
    return f"{title}: " + ", ".join(
        f"{name} {'-' if value is None else f'{value:.4g}'}" for name, value in values.items()
    )


@contextmanager
def timed(stage: str) -> Iterator[None]:
    """Write down how long the block took that is the work of `stage`."""
    import time

    from maskline.core.storage import write_timing

    started = time.monotonic()
    yield
    write_timing(stage, time.monotonic() - started)


def _is_main() -> bool:
    """Return whether this process is the first, or the only one, that torchrun started."""
    return os.environ.get("RANK", "0") == "0"


def _is_ours(error: Exception) -> bool:
    """Return whether an error is a fault of this program's: nothing in the user's reach explains it."""
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "maskline").partition(".")[0] in {"maskline", "pipeline"}
    return isinstance(error, UnicodeEncodeError) and error.encoding == "utf-8"  # which has all characters


def _explain(error: UserError | OSError | MemoryError | UnicodeEncodeError | ModuleNotFoundError) -> str:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed, which this needs: pip install -c constraints.txt -e ."
    if isinstance(error, MemoryError):
        return f"out of memory{f' ({error})' if str(error) else ''}: close other programs, or take smaller numbers"
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object!a} is no file name in this locale: set PYTHONUTF8=1"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full ({error.filename or 'while writing'}): make room and run the same command again"
    return f"{error.filename or 'the system'}: {error.strerror or error}; --debug shows what was tried"
