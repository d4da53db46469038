"""Score the pretrained model beside what its scores are read against."""

from pathlib import Path

from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, numbers, run, say, timed


def main(
    params: ParamsFile = Path("params.yaml"),
    tokens: InputDirectory = Path("data/tokens/train"),
    validation: InputDirectory = Path("data/validation"),
    tokenizer: InputDirectory = Path("data/tokenizer"),
    model: InputDirectory = Path("data/models/pretrained"),
    reports: OutputDirectory = Path("reports/evaluate"),
) -> None:
    """Score the pretrained model on the fixed validation set.

    Beside each score stands what makes it readable: token frequencies; word overlap and lengths of sentence pairs.
    Of a model that went on from another one, the scores of that one stand there too, and with `evaluate.also` those of
    both on another fixed set. samples.md shows what the model puts in place of masked tokens.
    """
    from maskline.settings.params import load

    settings = load(params)  # before torch is imported: a mistake in it is told at once

    from maskline.evaluation.report import Paths, evaluate
    from maskline.training.devices import choose_device

    init_from, also = settings.pretrain.init_from, settings.evaluate.also
    with timed("evaluate"):
        metrics = evaluate(
            Paths(
                tokens,
                validation,
                tokenizer,
                model,
                reports,
                Path(init_from) if init_from else None,
                Path(also) if also else None,
            ),
            choose_device(settings.compute),
            settings.evaluate.samples,
            nsp=settings.pretrain.nsp,
        )
    for section, values in metrics.items():
        say(numbers(section, values))


if __name__ == "__main__":
    run(main)
