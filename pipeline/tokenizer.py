"""Learn the vocabulary of the tokenizer from the train split, or take one that exists."""

from pathlib import Path

from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, run, say, timed


def main(
    params: ParamsFile = Path("params.yaml"),
    corpus: InputDirectory = Path("data/corpus"),
    tokenizer: OutputDirectory = Path("data/tokenizer"),
    report: OutputDirectory = Path("reports/tokenizer"),
) -> None:
    """Learn a vocabulary from the articles of the train split; save it as a tokenizer for Hugging Face's AutoTokenizer.

    A pretrained one is taken as it is, or with frequent words of the train split as new pieces (`tokenizer.extend`);
    its own pieces keep their ids. The report tells how the validation split looks in it: the share of [UNK],
    tokens per word, characters per token. More [UNK] than `tokenizer.max_unk_rate` fails the stage, and so do more
    tokens per word than `tokenizer.max_fertility`.
    """
    from maskline.settings.params import load

    settings = load(params)

    from maskline.vocabulary.learn import learn

    with timed("tokenizer"):
        init_from = settings.pretrain.init_from
        start = Path(init_from) if init_from else None
        metrics = learn(settings.tokenizer, settings.language, corpus, tokenizer, report, start)
    say(
        f"{tokenizer}: {metrics['vocab_size']:,} tokens; validation split: {metrics['tokens_per_word']:.2f} tokens per "
        f"word, {metrics['unk_rate']:.3%} [UNK], {metrics['unk_character_rate']:.3%} of the characters"
    )
    if before := metrics.get("before"):
        say(
            f"  {metrics['added']:,} of them added from the train split; without them {before['tokens_per_word']:.2f} "
            f"tokens per word, {before['unk_rate']:.3%} [UNK], {before['unk_character_rate']:.3%} of the characters"
        )


if __name__ == "__main__":
    run(main)
