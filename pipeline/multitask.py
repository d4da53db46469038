"""Train several tasks at once on one encoder."""

from pathlib import Path

from pipeline.cli import EncoderDirectory, InputDirectory, OutputDirectory, ParamsFile, run, say
from pipeline.kinds import factory_of


def main(
    params: ParamsFile = Path("params.yaml"),
    data: InputDirectory = Path("data/tasks"),
    pretrained: EncoderDirectory = None,
    tokenizer: EncoderDirectory = None,
    alone: InputDirectory = Path("data/models"),
    models: OutputDirectory = Path("data/multitask"),
    reports: OutputDirectory = Path("reports/multitask"),
) -> None:
    """Train the tasks that `multitask` in params.yaml names at once, each with a head of its own on one encoder.

    Of each task a whole model is written, and its scores on the test split beside those of the model in `--alone`,
    where there is one. No stage of DVC runs this. An interrupted run goes on where it was when the same command is
    given again.
    """
    from maskline.settings.params import load

    settings = load(params)  # before torch is imported: a mistake in it is told at once
    together = settings.multitasking()
    factories = {name: factory_of(settings.task(name).kind) for name in together.tasks}

    from maskline.multitask.run import Paths, train_together
    from maskline.training.distributed import process_group

    encoder = together.encoder
    paths = Paths(
        data,
        tokenizer or Path(encoder.tokenizer),
        pretrained or Path(encoder.model),
        alone,
        models,
        reports,
    )
    with process_group(together.compute) as device:
        rows = train_together(factories, together, paths, device)
    for row in rows:
        apart = "no model alone" if row["alone"] is None else f"alone {row['alone']:.4f}"
        found = "no number" if row["together"] is None else f"{row['together']:.4f}"
        say(f"{row['task']}: {row['score']} {found}, {apart}, of {row['examples']:,} examples")


if __name__ == "__main__":
    run(main)
