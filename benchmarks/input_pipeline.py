"""The input pipeline on one core (sentence pairs, masks, tensors from shards), against the training step."""

from itertools import count

import torch

from benchmarks.corpus import reference_data
from benchmarks.measure import Row, against, interleaved, measured
from benchmarks.ours import Ours
from benchmarks.report import cores
from maskline.settings.params import PARAMS, load
from maskline.training.inputs import to_inputs

SUBJECT = "input pipeline"
TOKENS_PER_SECOND = 2_000_000
OVER_STEP = 20.0
UPDATES = 400
"""Updates whose batches are made in one turn."""
STEP_UPDATES = 20
"""Updates of the training step in one turn."""


def rows() -> list[Row]:
    """Measure the default run's batches on one core, and its training step on all of them."""
    cpu = torch.device("cpu")
    ours = Ours(load(PARAMS), reference_data(), cpu)
    steps = count()

    def batches() -> float:
        torch.set_num_threads(1)
        made = [batch for _ in range(UPDATES) for batch in ours.objective.microbatches(next(steps))]
        for batch in made:
            to_inputs(batch, cpu)
        return float(sum(batch.tokens for batch in made))

    def updates() -> float:
        torch.set_num_threads(cores())
        return float(sum(ours.update() for _ in range(STEP_UPDATES)))

    series = interleaved({"batches": batches, "the training step": updates}, "tokens")
    made, trained = series.values()
    return [
        measured(SUBJECT, "tokens per second", made, TOKENS_PER_SECOND, "at least"),
        against(SUBJECT, made, trained, OVER_STEP, note=f"the step on {cores()} threads, the batches on one core"),
    ]
