"""Pretrain BERT, from scratch or from a model that exists."""

from pathlib import Path

from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, run


def main(
    params: ParamsFile = Path("params.yaml"),
    tokens: InputDirectory = Path("data/tokens/train"),
    validation: InputDirectory = Path("data/validation"),
    tokenizer: InputDirectory = Path("data/tokenizer"),
    best: OutputDirectory = Path("data/models/pretrained"),
    last: OutputDirectory = Path("data/models/pretrained-last"),
    reports: OutputDirectory = Path("reports/pretrain"),
) -> None:
    """Pretrain the encoder, from scratch or from `pretrain.init_from`, on masked tokens and sentence pairs.

    An interrupted run goes on where it was when the same command is given again. On several GPUs:
    torchrun --nproc-per-node 4 -m pipeline.pretrain
    """
    from maskline.settings.params import load

    settings = load(params).pretraining()  # before torch is imported: a mistake in it is told at once

    from maskline.pretraining.run import Paths, pretrain
    from maskline.training.distributed import process_group

    with process_group(settings.compute) as device:
        pretrain(settings, Paths(tokens, validation, tokenizer, best, last, reports), device)


if __name__ == "__main__":
    run(main)
