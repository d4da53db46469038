"""Teach a small encoder what a stronger one says of sentences."""

from pathlib import Path

from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, progress_bar, run, say


def main(
    params: ParamsFile = Path("params.yaml"),
    corpus: InputDirectory = Path("data/corpus"),
    tokenizer: InputDirectory = Path("data/tokenizer"),
    out: OutputDirectory = Path("data/distilled"),
    reports: OutputDirectory = Path("reports/distillation"),
) -> None:
    """Teach a student what the teacher that `distill` in params.yaml names says of the sentences of the corpus.

    The teacher's vectors are computed once and kept beside the student. No stage of DVC runs this. An interrupted run
    goes on where it was when the same command is given again.
    """
    from maskline.settings.params import load

    settings = load(params).distilling()  # before torch is imported: a mistake in it is told at once

    from maskline.core.storage import read_json
    from maskline.distillation.run import Paths, distill
    from maskline.training.devices import choose_device

    with progress_bar("sentences") as progress:
        distill(settings, Paths(corpus, tokenizer, out, reports), choose_device(settings.compute), progress)
    found = read_json(reports / "metrics.json")
    before, best = (
        f"loss {row['loss']:.4f}, Spearman {row['spearman']:.4f}" for row in (found["before"], found["best"])
    )
    say(f"{out / 'model'}: on held-out sentences, before: {before}; after step {found['best']['step']}: {best}")


if __name__ == "__main__":
    run(main)
