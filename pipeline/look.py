"""Write a page that shows what a model makes of a text."""

from pathlib import Path
from typing import Annotated

import typer

from maskline.core.errors import UserError
from pipeline.cli import InputDirectory, run


def main(
    texts: Annotated[
        list[str],
        typer.Argument(help='A text such as "a crane is flying", or two that are read as a pair.', show_default=False),
    ],
    model: InputDirectory = Path("data/models/pretrained"),
    beside: Annotated[
        Path | None,
        typer.Option(help="The directory of a second model; without it, random weights stand there.", file_okay=False),
    ] = None,
    top: Annotated[int, typer.Option(help="How many guesses and neighbours to show.", min=1, max=20)] = 5,
    out: Annotated[Path, typer.Option(help="The page; replaced when it exists.", dir_okay=False)] = Path("look.html"),
) -> None:
    """Write one HTML file that opens offline: tokens, attention, guesses, neighbours, and tokens in context.

    Two models stand beside each other: MODEL, and the same network with random weights, or the one in BESIDE. All is
    computed on the CPU.
    """
    if len(texts) > 2:
        raise UserError(f"there are {len(texts)} texts: give one or two, each in quotes if it has spaces")

    from maskline.core.storage import write_text
    from maskline.inference.look.model import look_at, open_model, random_weights
    from maskline.inference.look.page import page

    first = open_model(model)
    second = open_model(beside) if beside else random_weights(first)
    text, pair = texts[0], texts[1] if len(texts) == 2 else None
    write_text(out, page(look_at([first, second], text, pair, top), text, pair))
    typer.echo(out)


if __name__ == "__main__":
    run(main)
