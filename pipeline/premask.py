"""Fix the sentence pairs and masks of the validation set, once for all experiments."""

from pathlib import Path

from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, run, say, timed


def main(
    params: ParamsFile = Path("params.yaml"),
    tokens: InputDirectory = Path("data/tokens/validation"),
    tokenizer: InputDirectory = Path("data/tokenizer"),
    out: OutputDirectory = Path("data/validation"),
) -> None:
    """Draw the sentence pairs and masks of the validation set, once and for all.

    Every experiment is scored on this file, whatever masking it trains with, so that losses can be compared. Half of
    the pairs are true continuations; documents of one sentence give examples without a pair, which are counted.
    """
    from maskline.settings.params import load

    settings = load(params)

    from maskline.examples.premasked import premask

    with timed("premask"):
        counts = premask(settings.premask, tokens, tokenizer, out)
    say(
        f"{counts['examples']:,} examples, {counts['masked']:,} masked tokens, "
        f"{counts['is_next']:,} true and {counts['random']:,} random pairs, {counts['no_pair']:,} without -> {out}"
    )


if __name__ == "__main__":
    run(main)
