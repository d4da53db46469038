"""Show what a pretrained model puts in place of [MASK]."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import InputDirectory, run

UNLIMITED = 1_000_000
"""Columns that no table needs."""


def main(
    text: Annotated[
        str, typer.Argument(help='A text with one or more [MASK], such as "Paris is the capital of [MASK]."')
    ],
    model: InputDirectory = Path("data/models/pretrained"),
    top: Annotated[int, typer.Option(help="How many tokens to show.", min=1)] = 5,
) -> None:
    """Print the most probable tokens for each [MASK] in TEXT, on the CPU.

    A token that begins with ## continues the word before it.
    """
    import torch
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    from maskline.core.text import printable
    from maskline.graphs.directory import refuse_graph
    from maskline.inference.direction import isolated
    from maskline.inference.fill import fill_masks
    from maskline.model.directory import load_pretraining_model
    from maskline.tokenization.load import load_tokenizer

    refuse_graph(model)
    loaded = load_pretraining_model(model)
    fills = fill_masks(loaded, load_tokenizer(model), text, top, torch.device("cpu"))
    console = Console(highlight=False)
    width = console.width
    # A file or another program gets the text as it is.
    shape = (lambda text: isolated(printable(text))) if console.is_terminal else str
    for number, candidates in enumerate(fills, 1):
        title = f"[MASK] {number} of {len(fills)}" if len(fills) > 1 else None
        table = Table("token", "probability", "sentence", box=box.SIMPLE_HEAD, title=title and Text(title))
        table.columns[1].justify = "right"
        table.columns[0].no_wrap = table.columns[1].no_wrap = True
        for token, probability, sentence in candidates:
            table.add_row(Text(shape(token)), f"{probability:.3f}", Text(shape(sentence)))
        needed = Measurement.get(console, console.options.update(max_width=UNLIMITED), table)
        console.width = max(width, needed.minimum if console.is_terminal else needed.maximum)
        console.print(table)


if __name__ == "__main__":
    run(main)
