"""Learn the vocabulary of the tokenizer from the train split, or take one that exists."""

from pathlib import Path

from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, run


def main(
    params: ParamsFile = Path("params.yaml"),
    corpus: InputDirectory = Path("data/corpus"),
    tokenizer: OutputDirectory = Path("data/tokenizer"),
    report: OutputDirectory = Path("reports/tokenizer"),
) -> None:
    """Learn a vocabulary from the articles of the train split; save it as a tokenizer for Hugging Face's AutoTokenizer.

    A pretrained one is taken as it is. The report tells how the validation split looks in it: the share of [UNK],
    tokens per word, characters per token. More [UNK] than `tokenizer.max_unk_rate` fails the stage, and so do more
    tokens per word than `tokenizer.max_fertility`.
    """
    from collections.abc import Iterator

    import typer

    from maskline.corpus.articles import read_articles
    from maskline.corpus.lines import sample_lines
    from maskline.params import load
    from maskline.storage import MANIFEST, read_manifest, sha256, write_json
    from maskline.tokenization.build import build
    from maskline.tokenization.pretrained import check_segmented
    from maskline.tokenization.quality import check_quality, measure
    from maskline.tokenization.save import save

    loaded = load(params)
    settings = loaded.tokenizer
    share = min(1.0, settings.sample_characters / read_manifest(corpus, "fetch")["splits"]["train"]["characters"])

    def texts() -> Iterator[str]:
        return sample_lines(read_articles(corpus, "train"), share)

    def held_out() -> Iterator[str]:
        return (article.text for article in read_articles(corpus, "validation"))

    built = build(texts, settings, loaded.corpus.language)
    if settings.kind == "pretrained" and settings.pretrained.segmented:
        check_segmented(held_out())
    metrics = measure(built.tokenizer, held_out())
    if settings.kind != "pretrained":
        metrics["train_share"] = share
    write_json(report / "metrics.json", metrics)
    check_quality(metrics, settings, loaded.corpus.language)
    provenance = {**built.provenance, "corpus": sha256(corpus / MANIFEST)}
    save(built.tokenizer.backend, tokenizer, settings, provenance, built.settings)
    typer.echo(
        f"{tokenizer}: {metrics['vocab_size']:,} tokens; validation split: {metrics['tokens_per_word']:.2f} tokens per "
        f"word, {metrics['unk_rate']:.3%} [UNK]"
    )


if __name__ == "__main__":
    run(main)
