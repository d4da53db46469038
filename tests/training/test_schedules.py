from math import cos, pi, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.training.schedules import multiplier
from tests.tiny import tiny_params

SCHEDULES = ["linear", "constant", "cosine", "noam", "trapezoid"]
TO_ZERO = {"linear", "cosine", "trapezoid"}


def rates(steps, warmup_steps, schedule="linear", decay_share=0.5):
    return [multiplier(step, steps, warmup_steps, schedule, decay_share) for step in range(steps)]


def test_the_rate_of_every_update_is_the_written_formula():
    assert rates(10, 4) == pytest.approx([1 / 4, 2 / 4, 3 / 4, 1, 6 / 6, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert rates(6, 2) == pytest.approx([1 / 2, 1, 1, 3 / 4, 2 / 4, 1 / 4])
    assert rates(4, 0) == pytest.approx([1, 3 / 4, 2 / 4, 1 / 4])
    assert rates(4, 2, "constant") == [0.5, 1, 1, 1]
    assert rates(1, 0) == [1]


def test_cosine_is_half_a_wave():
    falling = [(1 + cos(pi * t / 6)) / 2 for t in range(6)]
    assert rates(10, 4, "cosine") == pytest.approx([1 / 4, 2 / 4, 3 / 4, 1, *falling])
    assert falling[0] == 1
    assert falling[3] == pytest.approx(0.5)
    assert rates(6, 0, "cosine") == pytest.approx(falling)


def test_noam_is_the_formula_of_the_paper_over_its_peak():
    def paper(number):  # hidden ** -0.5 * min(step ** -0.5, step * warmup ** -1.5), with steps counted from 1
        return 128**-0.5 * min(number**-0.5, number * 1000**-1.5)

    peak = (128 * 1000) ** -0.5
    drawn = rates(3000, 1000, "noam")
    assert drawn == pytest.approx([paper(number) / peak for number in range(1, 3001)])
    assert drawn[999] == max(drawn) == 1
    assert drawn[2999] == pytest.approx(sqrt(1 / 3))


def test_trapezoid_falls_over_the_last_share():
    assert rates(10, 2, "trapezoid", 0.4) == pytest.approx([1 / 2, 1, 1, 1, 1, 1, 1, 3 / 4, 2 / 4, 1 / 4])
    assert rates(10, 2, "trapezoid", 0.25) == pytest.approx([1 / 2, *[1] * 7, 2 / 2.5, 1 / 2.5])
    assert rates(5, 0, "trapezoid", 1.0) == rates(5, 0)


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(0, 400), st.sampled_from(SCHEDULES), st.floats(0.01, 1))
def test_no_update_is_wasted_and_none_exceeds_the_peak(steps, warmup_steps, schedule, decay_share):
    recipe = tiny_params().pretrain.model_copy(
        update={"schedule": schedule, "warmup_steps": warmup_steps, "decay_share": decay_share}
    )
    if recipe.schedule_error(steps) or (schedule == "noam" and not warmup_steps):
        return
    drawn = rates(steps, warmup_steps, schedule, decay_share)
    assert all(0 < rate <= 1 for rate in drawn)
    assert drawn[:warmup_steps] == sorted(drawn[:warmup_steps])
    if warmup_steps > steps:
        assert schedule == "noam"
        assert drawn[-1] == steps / warmup_steps
        return
    assert drawn[warmup_steps:] == sorted(drawn[warmup_steps:], reverse=True)
    assert max(drawn) == 1 or schedule == "trapezoid"
    # The peak is what the end of the warm-up has.
    assert drawn[max(warmup_steps - 1, 0)] == 1 or (schedule == "trapezoid" and decay_share * steps > steps - 1)
    if schedule in TO_ZERO:  # one update more, and it would be zero
        assert multiplier(steps, steps, warmup_steps, schedule, decay_share) == 0


@pytest.mark.parametrize("schedule", sorted(TO_ZERO))
def test_a_long_run_ends_near_zero(schedule):
    assert rates(2200, 100, schedule, 0.2)[-1] < 0.003
