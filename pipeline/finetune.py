"""Stage finetune@TASK: pretrained model + task -> data/models/TASK, reports/finetune/TASK."""

from pathlib import Path
from typing import Annotated

import typer

from maskline.errors import UserError
from pipeline.cli import InputDirectory, OutputDirectory, ParamsFile, run


def main(
    task: Annotated[str, typer.Argument(help="A task of params.yaml, such as sentiment.")],
    params: ParamsFile = Path("params.yaml"),
    tasks: InputDirectory = Path("data/tasks"),
    pretrained: InputDirectory = Path("data/models/pretrained"),
    tokenizer: InputDirectory = Path("data/tokenizer"),
    models: OutputDirectory = Path("data/models"),
    reports: OutputDirectory = Path("reports/finetune"),
) -> None:
    """Fine-tune the pretrained model on a task, and the same network from random weights for comparison.

    The epoch that scores best on the validation split is kept. An interrupted run goes on where it was when the same
    command is given again.
    """
    from maskline.params import load

    settings = load(params)  # before torch is imported: a mistake in it is told at once
    if task not in settings.finetune:
        raise UserError(f"{params} has no task {task}: it has {', '.join(settings.finetune)}")

    from maskline.training.distributed import process_group
    from maskline.training.finetuning import Paths, finetune

    paths = Paths(tasks / task, pretrained, tokenizer, models / task, models / f"{task}-scratch", reports / task)
    with process_group(settings.compute) as device:
        finetune(task, settings, paths, device)


if __name__ == "__main__":
    run(main)
