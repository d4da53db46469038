"""Turn articles into token shards."""

from pathlib import Path

from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, run, say, timed


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
    from maskline.settings.params import load

    settings = load(params)

    from maskline.shards.write import write_splits

    with timed("tokenize"):
        splits = write_splits(
            corpus,
            tokenizer,
            tokens,
            report,
            language=settings.language,
            shard_tokens=settings.tokenize.shard_tokens,
            workers=settings.compute.workers,
        )
    for split, counts in splits.items():
        say(
            f"{tokens / split}: {counts['tokens']:,} tokens, {counts['documents']:,} documents of "
            f"{counts['sentences_per_document']:.1f} sentences, {counts['one_sentence_share']:.1%} of them of one"
        )


if __name__ == "__main__":
    run(main)
