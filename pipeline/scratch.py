"""Train the network of a task from random weights."""

from pathlib import Path

from pipeline.cli import EncoderDirectory, InputDirectory, OutputDirectory, ParamsFile, run
from pipeline.kinds import TaskName, factory_of


def main(
    task: TaskName,
    params: ParamsFile = Path("params.yaml"),
    data: InputDirectory = Path("data/tasks"),
    tokenizer: EncoderDirectory = None,
    models: OutputDirectory = Path("data/models"),
    reports: OutputDirectory = Path("reports/tasks"),
) -> None:
    """Train the same network as `finetune` from random weights, by the same recipe: what pretraining is held against.

    The epoch that scores best on the validation split is kept. An interrupted run goes on where it was when the same
    command is given again.
    """
    from maskline.settings.params import load

    settings = load(params)  # before torch is imported: a mistake in it is told at once
    kind, training = settings.task(task).kind, settings.finetuning(task)

    from maskline.finetuning.run import Paths, finetune
    from maskline.training.distributed import process_group

    pieces = tokenizer or Path(training.encoder.tokenizer)
    paths = Paths(data / task, pieces, models / f"{task}-scratch", reports / task / "scratch")
    with process_group(training.compute) as device:
        finetune(task, factory_of(kind), training, paths, device)


if __name__ == "__main__":
    run(main)
