"""Learning-rate schedules, in optimizer updates."""

import math

from maskline.training.settings import Schedule


def multiplier(step: int, steps: int, warmup_steps: int, schedule: Schedule, decay_share: float) -> float:
    """Return what the peak learning rate is multiplied by at update `step` of `steps`, counted from 0.

    With w = `warmup_steps`, every schedule rises as (step + 1) / w, so that the first update counts and update w - 1
    has the peak. Then it is, with t = (step - w) / (steps - w), which grows from 0 and stays below 1:

    - `linear`: 1 - t (Devlin et al. 2019, appendix A.2);
    - `constant`: 1;
    - `cosine`: (1 + cos(pi t)) / 2 (Loshchilov & Hutter 2017, eq. 5, without restarts);
    - `noam`: sqrt(w / (step + 1)) (Vaswani et al. 2017, sec. 5.3; its own peak is 1 / sqrt(hidden * w)); w is not 0;
    - `trapezoid`: 1, and (steps - step) / (decay_share * steps) over the last `decay_share` of the run (Hägele et al.
      2024, sec. 3).

    What falls to zero would be there one update after the last, so that the last one counts as well.
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    left = (steps - step) / (steps - warmup_steps)  # 1 - t
    match schedule:
        case "linear":
            return left
        case "constant":
            return 1.0
        case "cosine":
            return math.sin(math.pi / 2 * left) ** 2  # the same, exact where the cosine is nearly -1
        case "noam":
            return math.sqrt(warmup_steps / (step + 1))
        case "trapezoid":
            return min(1.0, (steps - step) / (decay_share * steps))
