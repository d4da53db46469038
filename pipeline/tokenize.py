"""Turn articles into token shards."""

from pathlib import Path

from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, run


def main(
    params: ParamsFile = Path("params.yaml"),
    corpus: InputDirectory = Path("data/corpus"),
    tokenizer: InputDirectory = Path("data/tokenizer"),
    tokens: OutputDirectory = Path("data/tokens"),
    report: OutputDirectory = Path("reports/tokenize"),
) -> None:
    """Cut the articles of both splits into sentences of token ids; write them as memory-mapped Arrow shards.

    The report tells how many documents, sentences and tokens there are, how many sentences documents have, and how many
    have one, which are of no use to next-sentence prediction.
    """
    from itertools import zip_longest

    import typer

    from maskline.corpus.articles import read_articles
    from maskline.examples.tokenize import sentence_histogram, write_tokens
    from maskline.params import load
    from maskline.storage import MANIFEST, read_manifest, sha256, write_csv, write_json

    loaded = load(params)
    # Before anything that was tokenized earlier is replaced.
    read_manifest(corpus, "fetch")
    read_manifest(tokenizer, "tokenizer")
    provenance = {"corpus": sha256(corpus / MANIFEST), "tokenizer": sha256(tokenizer / MANIFEST)}
    metrics = {}
    for split in ("train", "validation"):
        counts = metrics[split] = write_tokens(
            tokens / split,
            read_articles(corpus, split),
            tokenizer,
            language=loaded.corpus.language,
            shard_tokens=loaded.tokenize.shard_tokens,
            workers=loaded.compute.workers,
            provenance=provenance,
        )
        typer.echo(
            f"{tokens / split}: {counts['tokens']:,} tokens, {counts['documents']:,} documents of "
            f"{counts['sentences_per_document']:.1f} sentences, {counts['one_sentence_share']:.1%} of them of one"
        )
    write_json(report / "metrics.json", metrics)
    # A row counts the documents of `sentences` to twice as many sentences.
    octaves = enumerate(zip_longest(*(sentence_histogram(tokens / split) for split in metrics), fillvalue=0))
    rows = [{"sentences": 2**octave, "train": train, "validation": held_out} for octave, (train, held_out) in octaves]
    write_csv(report / "sentences.csv", rows, ("sentences", "train", "validation"))


if __name__ == "__main__":
    run(main)
