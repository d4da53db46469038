"""Make an index of documents that `pipeline.search` searches."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pipeline.cli import InputDirectory, OutputDirectory, progress_bar, run, say, say_written


def main(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files of documents, or folders of them: .txt (one a line), .csv, .tsv, .jsonl, .parquet. Without "
            "any, the articles in data/corpus.",
            show_default=False,
        ),
    ] = None,
    model: InputDirectory = Path("data/models/pretrained"),
    out: OutputDirectory = Path("data/index"),
    ivf: Annotated[bool, typer.Option("--ivf", help="Build IVF as well, for a million documents and more.")] = False,
    hnsw: Annotated[
        bool, typer.Option("--hnsw", help="Build HNSW as well: faster to search, slower to build.")
    ] = False,
    pooling: Annotated[Literal["mean", "cls"], typer.Option(help="What stands for a text.")] = "mean",
    language: Annotated[str, typer.Option(help="Whose words and stems BM25 counts: an ISO 639 code.")] = "en",
    column: Annotated[str, typer.Option(help="The column of a record that holds the text.")] = "text",
    id_column: Annotated[
        str | None, typer.Option(help="That of the id; without it `id`, else file and number.", show_default=False)
    ] = None,
    title_column: Annotated[
        str | None, typer.Option(help="That of the title; without it `title`, if there is one.", show_default=False)
    ] = None,
) -> None:
    """Index documents by words and by vectors, on the CPU.

    A killed run goes on where it was when the same command is given again.
    """
    from maskline.inference.index import check_installed

    check_installed()

    from maskline.inference.analysis import has_stems
    from maskline.inference.documents import Columns
    from maskline.inference.indexing import IndexSettings, write_index
    from maskline.inference.vectors import open_encoder

    kinds = tuple(kind for kind, wanted in (("ivf", ivf), ("hnsw", hnsw)) if wanted)
    settings = IndexSettings(pooling, language, kinds)
    columns = Columns(column, id_column, title_column)
    opened = open_encoder(model)
    with progress_bar("documents") as progress:
        manifest = write_index(files or [Path("data/corpus")], out, opened, settings, columns, progress)
    if not has_stems(language):
        say(f"language {language} has no stemmer: BM25 counts its words as they are written", err=True)
    say_written(manifest, out)


if __name__ == "__main__":
    run(main)
