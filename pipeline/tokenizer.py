"""Learn the vocabulary of the tokenizer from the train split."""

from pathlib import Path

from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, run


def main(
    params: ParamsFile = Path("params.yaml"),
    corpus: InputDirectory = Path("data/corpus"),
    tokenizer: OutputDirectory = Path("data/tokenizer"),
    report: OutputDirectory = Path("reports/tokenizer"),
) -> None:
    """Learn a vocabulary from the articles of the train split; save it as a tokenizer for Hugging Face's AutoTokenizer.

    The report tells how the validation split looks in it: the share of [UNK], tokens per word, characters per token. A
    share above `tokenizer.max_unk_rate` fails the stage.
    """
    from collections.abc import Iterator

    import typer

    from maskline.corpus.articles import read_articles
    from maskline.corpus.split import Split
    from maskline.params import load
    from maskline.storage import MANIFEST, sha256, write_json
    from maskline.tokenization.load import LoadedTokenizer
    from maskline.tokenization.quality import check_unk_rate, measure
    from maskline.tokenization.save import save
    from maskline.tokenization.wordpiece import train

    def texts(split: Split) -> Iterator[str]:
        return (article.text for article in read_articles(corpus, split))

    loaded = load(params).tokenizer
    trained = train(lambda: texts("train"), loaded)
    metrics = measure(LoadedTokenizer(trained), texts("validation"))
    write_json(report / "metrics.json", metrics)
    check_unk_rate(metrics["unk_rate"], loaded.max_unk_rate)
    save(trained, tokenizer, loaded, {"corpus": sha256(corpus / MANIFEST)})
    typer.echo(
        f"{tokenizer}: {metrics['vocab_size']:,} pieces; validation split: {metrics['tokens_per_word']:.2f} tokens per "
        f"word, {metrics['unk_rate']:.3%} [UNK]"
    )


if __name__ == "__main__":
    run(main)
