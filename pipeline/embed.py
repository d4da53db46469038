"""Write the vectors that a model makes of the texts in files."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pipeline.cli import OutputDirectory, progress_bar, run, say_written


def main(
    model: Annotated[Path, typer.Argument(help="A directory of a model of any kind.", file_okay=False)],
    files: Annotated[
        list[Path],
        typer.Argument(help="Files of texts, or folders of them: .txt (a text a line), .csv, .tsv, .jsonl, .parquet."),
    ],
    out: OutputDirectory = Path("data/vectors"),
    file_format: Annotated[
        Literal["parquet", "npy"], typer.Option("--format", help="Parquet with ids, or .npy and ids.jsonl.")
    ] = "parquet",
    pooling: Annotated[
        Literal["mean", "cls"], typer.Option(help="What stands for a text: the mean of its tokens, or [CLS].")
    ] = "mean",
    normalize: Annotated[bool, typer.Option("--normalize", help="Give each vector the length 1.")] = False,
    dtype: Annotated[Literal["float32", "float16"], typer.Option(help="What numbers are written as.")] = "float32",
    column: Annotated[str, typer.Option(help="The column of a record that holds the text.")] = "text",
    id_column: Annotated[
        str | None, typer.Option(help="That of the id; without it `id`, else file and number.", show_default=False)
    ] = None,
) -> None:
    """Write a vector for each text, in their order, on the CPU.

    A killed run goes on where it was when the same command is given again, and ends with the same bytes. Started by
    torchrun, each process takes a share of the texts.
    """
    from maskline.inference.documents import Columns
    from maskline.inference.shares import Share
    from maskline.inference.vectors import VectorSettings, open_encoder, write_vectors

    settings, share = VectorSettings(pooling, normalize, dtype), Share.of_this_process()
    opened = open_encoder(model)
    with progress_bar("texts") as progress:
        manifest = write_vectors(files, out, opened, settings, file_format, Columns(column, id_column), progress, share)
    if manifest:
        say_written(manifest, out)


if __name__ == "__main__":
    run(main)
