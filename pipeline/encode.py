"""Show the vectors that a model makes of a text or a pair of texts."""

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
    dimensions: Annotated[int, typer.Option(help="How many numbers of each vector to show.", min=1)] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers, as JSON.")] = False,
) -> None:
    """Print the tokens of one text or of a pair, and the last layer's vector of each, on the CPU.

    The vector of [CLS] stands for the whole. A token that begins with ## continues the word before it.
    """
    if len(texts) > 2:
        raise UserError(f"there are {len(texts)} texts: give one or two, each in quotes if it has spaces")

    import torch

    from maskline.graphs.directory import refuse_graph
    from maskline.inference.embedding import token_vectors
    from maskline.model.directory import load_encoder
    from maskline.tokenization.load import load_tokenizer

    refuse_graph(model)
    second = texts[1] if len(texts) == 2 else None
    found = token_vectors(load_encoder(model), load_tokenizer(model), texts[0], second, torch.device("cpu"))
    if as_json:
        import json

        arrays = {name: getattr(found, name).tolist() for name in ("input_ids", "token_type_ids", "vectors")}
        typer.echo(json.dumps({"tokens": found.tokens, **arrays}, ensure_ascii=False))
        return

    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    from maskline.core.text import printable
    from maskline.inference.direction import isolated

    console = Console(highlight=False)
    # A file or another program gets the tokens as they are.
    shape = (lambda text: isolated(printable(text))) if console.is_terminal else str
    length, hidden = found.vectors.shape
    shown = min(dimensions, hidden)
    table = Table("token", "id", "segment", *map(str, range(shown)), box=box.SIMPLE_HEAD)
    for column in table.columns[1:]:
        column.justify = "right"
    columns = (found.tokens, found.input_ids, found.token_type_ids, found.vectors)
    for token, number, segment, vector in zip(*columns, strict=True):
        table.add_row(Text(shape(token)), str(number), str(segment), *(f"{value:.3f}" for value in vector[:shown]))
    typer.echo(f"shapes: tokens (1, {length}), vectors (1, {length}, {hidden}), that of [CLS] (1, {hidden})")
    needed = Measurement.get(console, console.options.update(max_width=1_000_000), table).maximum
    console.width = max(console.width, needed)  # a narrow terminal wraps the lines; squeezed columns would show nothing
    console.print(table)
    if shown < hidden:
        typer.echo(f"the first {shown} of {hidden} dimensions: --dimensions shows more, and --json prints all")


if __name__ == "__main__":
    run(main)
