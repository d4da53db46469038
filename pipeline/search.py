"""Search an index."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from pipeline.cli import InputDirectory, run, say


def main(
    query: Annotated[str, typer.Argument(help='Words or a question, such as "bridges of iron".')],
    index: InputDirectory = Path("data/index"),
    model: InputDirectory = Path("data/models/pretrained"),
    k: Annotated[int, typer.Option("--k", help="How many documents to show.", min=1)] = 10,
    method: Annotated[
        Literal["fused", "bm25", "flat", "ivf", "hnsw"],
        typer.Option(help="By words (bm25), by vectors (flat: all of them; ivf, hnsw: where built), or by both."),
    ] = "fused",
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each document.")] = False,
) -> None:
    """Print the documents that fit a query best, with scores that only those of one method compare with."""
    from contextlib import ExitStack

    from maskline.core.errors import UserError
    from maskline.inference.queries import QueryEncoder
    from maskline.inference.search import SearchIndex
    from maskline.inference.typed import has_half_character

    if has_half_character(query):
        raise UserError("the query is not UTF-8: check the encoding of the terminal")
    with ExitStack() as stack:
        opened = SearchIndex(index)
        opened.check(method, query)
        vector = None
        if method != "bm25":
            opened.check_model(model)
            vectors, cut = stack.enter_context(QueryEncoder(model, opened.manifest["pooling"])).vectors([query])
            vector = vectors[0]
            if cut:
                say("the query is longer than the model reads and was cut", err=True)
        hits = opened.hits(opened.ranking(method, query, vector, k))
    if k > opened.count:
        say(f"the index has {opened.count:,} documents, fewer than --k {k:,}", err=True)
    if not hits:
        say("no document has a word of the query", err=True)
    for rank, hit in enumerate(hits, 1):
        if as_json:
            import json

            typer.echo(json.dumps(hit._asdict(), ensure_ascii=False))
        else:
            say(f"{rank}. {hit.title or hit.id} ({hit.score:.4f})")
            say(f"   {hit.snippet}", indent=3)


if __name__ == "__main__":
    run(main)
