"""Make a whole model of a fine-tuned one that stands on an encoder."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import run, say


def main(
    model: Annotated[Path, typer.Argument(help="A directory that lora or probe wrote.", file_okay=False)],
    out: Annotated[Path, typer.Argument(help="The directory to write, a new one.", file_okay=False)],
    encoder: Annotated[
        Path | None,
        typer.Option(help="What it stands on; without it, the directory that it names.", file_okay=False),
    ] = None,
) -> None:
    """Write a model that lora or probe trained as a whole one, which computes the same and needs no other directory."""
    from maskline.inference.merge import merge

    merge(model, out, encoder)
    say(f"{out}: a whole model")


if __name__ == "__main__":
    run(main)
