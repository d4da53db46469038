"""Score the models of a task beside what their scores are read against."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import EncoderDirectory, InputDirectory, OutputDirectory, ParamsFile, numbers, run, say, timed
from pipeline.kinds import TaskName, factory_of


def main(
    task: TaskName,
    params: ParamsFile = Path("params.yaml"),
    data: InputDirectory = Path("data/tasks"),
    tokenizer: EncoderDirectory = None,
    pretrained: EncoderDirectory = None,
    models: InputDirectory = Path("data/models"),
    model: Annotated[
        Path | None,
        typer.Option(help="The fine-tuned model; without it, that of its name in --models.", file_okay=False),
    ] = None,
    reports: OutputDirectory = Path("reports/tasks"),
) -> None:
    """Score the fine-tuned model of a task on its test split, and on each further test that its examples have.

    Beside each score stands what makes it readable: the same network without pretraining, and simple rules.
    """
    from maskline.settings.params import load

    settings = load(params)  # before torch is imported: a mistake in it is told at once
    chosen, encoder = settings.task(task), settings.encoder

    from maskline.finetuning.score import FURTHER, score
    from maskline.training.devices import choose_device

    with timed(f"score@{task}"):
        result = score(
            task,
            factory_of(chosen.kind),
            chosen.finetune,
            data / task,
            tokenizer or Path(encoder.tokenizer),
            pretrained or Path(encoder.model),
            encoder.stage,
            {"pretrained": model or models / task, "scratch": models / f"{task}-scratch"},
            reports / task,
            reports / task / "score",
            choose_device(settings.compute),
        )
    for warning in result.warnings:
        say(f"warning: {warning}", err=True)
    further = result.metrics.pop(FURTHER, {})
    say(numbers(task, result.metrics))
    for split, metrics in further.items():
        say(numbers(f"{task}, {split}", metrics))


if __name__ == "__main__":
    run(main)
