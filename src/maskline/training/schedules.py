"""Learning-rate schedules, in optimizer updates."""

from typing import Literal


def multiplier(step: int, steps: int, warmup_steps: int, schedule: Literal["linear", "constant"]) -> float:
    """Return what the peak learning rate is multiplied by at update `step` of `steps`, counted from 0.

    It rises as (step + 1) / warmup_steps, so that the first update counts; `linear` then falls from 1 to
    1 / (steps - warmup_steps) at the last update (Devlin et al. 2019, appendix A.2), `constant` stays at 1.
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    if schedule == "constant":
        return 1.0
    return (steps - step) / (steps - warmup_steps)
