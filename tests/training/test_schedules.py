import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.training.schedules import multiplier


def rates(steps, warmup_steps, schedule="linear"):
    return [multiplier(step, steps, warmup_steps, schedule) for step in range(steps)]


def test_the_rate_of_every_update_is_the_written_formula():
    assert rates(10, 4) == pytest.approx([1 / 4, 2 / 4, 3 / 4, 1, 6 / 6, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert rates(6, 2) == pytest.approx([1 / 2, 1, 1, 3 / 4, 2 / 4, 1 / 4])
    assert rates(4, 0) == pytest.approx([1, 3 / 4, 2 / 4, 1 / 4])
    assert rates(4, 2, "constant") == [0.5, 1, 1, 1]
    assert rates(1, 0) == [1]


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(0, 400), st.sampled_from(["linear", "constant"]))
def test_no_update_is_wasted_and_none_exceeds_the_peak(steps, warmup_steps, schedule):
    drawn = rates(steps, warmup_steps, schedule)
    assert all(0 < rate <= 1 for rate in drawn)
    rising = min(warmup_steps, steps)
    assert drawn[:rising] == sorted(drawn[:rising])
    assert drawn[rising:] == sorted(drawn[rising:], reverse=True)
    if warmup_steps < steps:
        assert max(drawn) == 1
        assert drawn[-1] == (1 if schedule == "constant" else pytest.approx(1 / (steps - warmup_steps)))
