"""Measure what labels are worth, and what pretraining is worth beside them."""

from pathlib import Path
from typing import Annotated

import typer

from maskline.core.errors import UserError
from pipeline.cli import EncoderDirectory, InputDirectory, ParamsFile, run
from pipeline.kinds import TaskName, factory_of

SIZES = "30,100,300,1000"


def main(
    task: TaskName,
    params: ParamsFile = Path("params.yaml"),
    data: InputDirectory = Path("data/tasks"),
    pretrained: EncoderDirectory = None,
    tokenizer: EncoderDirectory = None,
    labels: Annotated[str, typer.Option(help="Numbers of labelled examples; all that there are come last.")] = SIZES,
    seeds: Annotated[int, typer.Option(help="How many draws of examples and of weights.", min=1)] = 3,
    out: Annotated[Path, typer.Option(help="Where the table and the figure go.", file_okay=False)] = Path(
        "reports/learning_curves"
    ),
) -> None:
    """Draw the score of a task by the number of labels: from pretrained weights, from random ones, and by simple rules.

    No stage of DVC runs this: it trains as many networks as there are numbers, seeds and starts. A run that was
    interrupted goes on.
    """
    try:
        sizes = sorted({int(size) for size in labels.split(",")})
    except ValueError:
        raise UserError(f"--labels {labels} has no numbers with commas between: give such as {SIZES}") from None
    if sizes[0] < 2:
        raise UserError(f"--labels {labels}: {sizes[0]} examples teach nothing: give 2 or more")

    from maskline.settings.params import load

    settings = load(params)
    kind, training = settings.task(task).kind, settings.finetuning(task)

    from maskline.finetuning.learning_curve import learning_curve
    from maskline.finetuning.run import Paths
    from maskline.reporting.style import save, theme
    from maskline.reporting.task_figures import learning_curve as drawn
    from maskline.training.distributed import process_group

    encoder = training.encoder
    model, pieces = pretrained or Path(encoder.model), tokenizer or Path(encoder.tokenizer)
    paths = Paths(data / task, pieces, Path(), out / task, model)
    with process_group(training.compute) as device:
        curve = learning_curve(task, factory_of(kind), training, paths, sizes, seeds, device)
    with theme():
        save(drawn(task, curve.score, curve.rows), out / task / "curve")
    typer.echo(f"{out / task}: the {curve.score} by number of labels, in curve.csv and curve.png")


if __name__ == "__main__":
    run(main)
