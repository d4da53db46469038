"""A short benchmark of one device, such as a GPU: tokens per second, model FLOPs, memory, and the ratio to HF.

    python -m benchmarks.gpu --device cuda

It runs the code of `training_step` on the device, in under five minutes on a GPU. The text is synthetic, so no network
is needed.
"""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import torch
import typer

from benchmarks.measure import interleaved
from benchmarks.report import machine
from benchmarks.training_step import BASE, LARGE_VOCABULARY, PEAK, Cell, Contest, recipe, transformer
from maskline.core.storage import write_json
from maskline.settings.params import PARAMS, load
from maskline.training.devices import choose_device, describe
from pipeline.cli import run

REPORT = Path("reports/benchmarks/gpu.json")
REPETITIONS = 5
UPDATES = 10
"""Updates of each contender in a turn."""
TINY = Cell("BERT-tiny", {"model": transformer(2, 128, 2), "pretrain": recipe(32)}, 30_522, {}, {})


@dataclass(frozen=True)
class Measured:
    """The results of one model."""

    subject: str
    precision: str
    tokens_per_second: float
    flops_share: float
    """Model FLOPs over the fastest matrix product at that precision."""
    peak_bytes: int | None
    """Peak of device memory in an update of ours; None if the device does not report it."""
    ratio_to_hf: float
    """Ratio to HF in float32."""
    ratio_to_hf_at_our_precision: float | None


def main(
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:1.")] = "cuda",
    batch: Annotated[int, typer.Option(help="Examples per update.")] = 128,
    report: Annotated[Path, typer.Option(help="Where to write the numbers.", dir_okay=False)] = REPORT,
) -> None:
    """Measure BERT-tiny, the 64k-vocabulary model and BERT-base on one device."""
    chosen = choose_device(load(PARAMS).compute.model_copy(update={"device": device}))
    typer.echo(f"{describe(chosen)}, torch {torch.__version__}, batches of {batch} examples of 128 tokens")
    found = []
    for cell in (TINY, LARGE_VOCABULARY, BASE):
        found.append(measure(sized(cell, batch), chosen, REPETITIONS))
        typer.echo(line(found[-1]))
    rows = [asdict(row) for row in found]
    write_json(report, {"machine": machine(), "device": describe(chosen), "batch": batch, "rows": rows})


def sized(cell: Cell, batch: int) -> Cell:
    """Return `cell` with HF as the only peer, batches of `batch` examples, and turns of `UPDATES` updates."""
    sizes = {"global_batch": batch, "micro_batch": batch}
    sections = {**cell.sections, "pretrain": cell.sections["pretrain"] | sizes}
    updates = dict.fromkeys(("ours", "HF", "HF at our precision"), UPDATES)
    return replace(cell, sections=sections, updates=updates, targets={"HF": 1.0})


def measure(cell: Cell, device: torch.device, repetitions: int) -> Measured:
    """Return the results of ours on `device`, against HF in float32 and at our precision."""
    with tempfile.TemporaryDirectory() as directory:
        contest = Contest(cell, device, Path(directory))
        contenders = contest.contenders()
        peak_bytes = _peak_bytes(contenders["ours"], device)
        series = interleaved(contenders | {PEAK: contest.peak()}, "tokens", repetitions=repetitions)
        share = contest.against_peak(series["ours"], series.pop(PEAK)).ratio
    ours = series.pop("ours").median
    ratios = {name: ours / other.median for name, other in series.items()}
    return Measured(
        subject=cell.subject,
        precision=contest.params.pretrain.precision,
        tokens_per_second=ours,
        flops_share=share or 0.0,
        peak_bytes=peak_bytes,
        ratio_to_hf=ratios["HF"],
        ratio_to_hf_at_our_precision=ratios.get("HF at our precision"),
    )


def _peak_bytes(work: Callable[[], float], device: torch.device) -> int | None:
    """Return the peak memory of `device` while `work` runs; it includes the weights of all contenders."""
    if device.type != "cuda":
        work()
        return None
    torch.cuda.reset_peak_memory_stats(device)
    work()
    return torch.cuda.max_memory_allocated(device)


def line(row: Measured) -> str:
    """Return the results of a model as one line of text."""
    memory = "" if row.peak_bytes is None else f", {row.peak_bytes / 2**30:.2f} GiB"
    same = row.ratio_to_hf_at_our_precision
    return (
        f"{row.subject} ({row.precision}): {row.tokens_per_second:,.0f} tokens/s, {row.flops_share:.1%} of the peak"
        f"{memory}, {row.ratio_to_hf:.2f}x HF" + ("" if same is None else f", {same:.2f}x at our precision")
    )


if __name__ == "__main__":
    run(main)
