"""Write a model as a graph that runs without torch."""

from pathlib import Path
from typing import Annotated

import typer

from maskline.core.errors import UserError
from pipeline.cli import run, say


def main(
    model: Annotated[Path, typer.Argument(help="A directory of a model of any kind.", file_okay=False)],
    onnx: Annotated[bool, typer.Option("--onnx", help="Write it for ONNX Runtime.")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="In int8, where that is good enough.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The directory to write, a new one; without it, MODEL-onnx or MODEL-int8.",
            file_okay=False,
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="What int8 is measured on: the examples of the model's task, else texts; without it, data/tasks/NAME "
            "or data/corpus.",
            show_default=False,
        ),
    ] = None,
    encoder: Annotated[
        Path | None,
        typer.Option(
            help="What a model of adapters, lora or probe stands on; without it, the directory that it names.",
            file_okay=False,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a model for ONNX Runtime, with its tokenizer, labels and card; `predict` and `embed` take it as any other.

    It is written once it computes the same as torch. In int8 it is written once it is good enough on this machine: mean
    cosine with float32 at least 0.99, the score of its task within half a point, at most 0.27 of the bytes.
    """
    if not onnx:
        raise UserError("name what to write: --onnx")
    if data and not int8:
        raise UserError("--data is what int8 is measured on: give --int8 with it, or neither")
    from maskline.inference.export import export_graph

    named = model if model.name not in {"", ".."} else model.resolve()
    place = out or named.with_name(f"{named.name}-{'int8' if int8 else 'onnx'}")
    found = export_graph(model, place, int8=int8, data=data, encoder=encoder)
    say(f"{place}: {found.bytes:,} bytes, float32 differs from torch by {found.difference:.0e}")
    if quality := found.quality:
        score = (
            f", {quality.metric} {quality.score:.4f} (float32 {quality.float_score:.4f})"
            if quality.metric
            else ", no task"
        )
        say(f"int8 per {quality.scheme}: cosine {quality.cosine:.4f}, {quality.size:.3f} of the bytes{score}")


if __name__ == "__main__":
    run(main)
