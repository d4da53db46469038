"""Use a fine-tuned model."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from maskline.core.errors import UserError
from pipeline.cli import run

STANDARD_INPUT = Path("-")


def main(
    model: Annotated[Path, typer.Argument(help="A directory of a fine-tuned model.", file_okay=False)],
    texts: Annotated[
        list[str] | None, typer.Argument(help="What to predict; of a pair, both texts.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="A file to read instead: .txt (a text in each line), .csv, .tsv, .jsonl or .parquet; or -."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="The columns of the file, with commas between; without it, the names of the fields."),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(help="Another model to ask of the same texts; may be given again.", file_okay=False),
    ] = None,
    encoder: Annotated[
        Path | None,
        typer.Option(
            help="What a model of adapters, lora or probe stands on; without it, the directory that it names.",
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Print what a fine-tuned model says of texts: a table on a terminal, elsewhere a line of JSON for each.

    What it says depends on the kind of its task: classes with probabilities, entities, answers or similarities. Texts
    come as arguments, from a file, or from standard input, a text in each line. Of several models each answers under
    its name, and those that stand on one encoder share it.
    """
    from maskline.inference.predict import load_predictors, predictions, read_inputs, read_lines, typed_inputs

    if texts and file:
        raise UserError("there are texts and a file: give one of them")
    predictor = load_predictors([model, *(also or [])], encoder=encoder)
    fields = list(predictor.fields)
    names = columns.split(",") if columns else fields
    if len(names) != len(fields):
        raise UserError(f"--columns names {len(names)}, and an input has {len(fields)}: {', '.join(fields)}")
    if texts:
        inputs: Iterable[Mapping[str, str]] = typed_inputs(texts, fields)
    elif file and file != STANDARD_INPUT:
        inputs = read_inputs(file, fields, names)
    elif file or not _is_terminal(sys.stdin):
        inputs = read_lines(sys.stdin, fields, "standard input")
    else:
        raise UserError('there is nothing to predict: give texts such as "I like it", --file, or standard input')
    write = _table if _is_terminal(sys.stdout) else _lines
    cut = windowed = count = 0
    with _counter() as progress:
        for some, predicted in predictions(predictor, inputs):
            write(some, predicted.rows)
            count += len(some)
            cut += predicted.cut
            windowed += predicted.windowed
            progress(count)
    for number, what in ((cut, "were cut"), (windowed, "were read in windows")):
        if number:
            typer.echo(f"{number:,} of {count:,} texts are longer than the model reads and {what}", err=True)


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty()


@contextmanager
def _counter() -> Iterator[Callable[[int], None]]:
    """Give what shows how many inputs are done, on a terminal beside the output; elsewhere nothing."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

    shown = _is_terminal(sys.stderr) and not _is_terminal(sys.stdout)
    columns = (SpinnerColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as bar:
        task = bar.add_task("", total=None)
        yield lambda count: bar.update(task, completed=count)


def _lines(inputs: Iterable[Mapping[str, str]], rows: Iterable[Mapping[str, Any]]) -> None:
    import json

    for one, row in zip(inputs, rows, strict=True):
        typer.echo(json.dumps({**one, **row}, ensure_ascii=False))


def _table(inputs: Iterable[Mapping[str, str]], rows: Iterable[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from maskline.core.text import printable
    from maskline.inference.direction import isolated

    table: Table | None = None
    for one, row in zip(inputs, rows, strict=True):
        table = table or Table(*one, *row, box=box.SIMPLE_HEAD)
        table.add_row(*(Text(isolated(printable(_shown(value)))) for value in (*one.values(), *row.values())))
    Console(highlight=False).print(table)


def _shown(value: Any) -> str:
    """Return a value of a prediction in short."""
    match value:
        case float():
            return f"{value:.3f}"
        case dict():
            return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
        case list():
            return "; ".join(map(_shown, value)) or "none"
        case _:
            return str(value)


if __name__ == "__main__":
    run(main)
