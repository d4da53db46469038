import sys
import time

import pytest

from benchmarks.measure import Row, Series, against, child, interleaved, measured


def test_contenders_take_turns_after_a_warm_up():
    calls = []

    def contender(name, amount):
        def work():
            calls.append(name)
            return amount

        return work

    series = interleaved({"a": contender("a", 3.0), "b": contender("b", 6.0)}, "tokens", repetitions=5, warmup=2)
    assert calls == ["a", "b"] * 7
    assert {name: len(found.values) for name, found in series.items()} == {"a": 5, "b": 5}
    assert series["a"].unit == "tokens/s"


def test_a_rate_is_the_work_over_its_time():
    found = interleaved({"slow": lambda: time.sleep(0.05) or 10.0}, "tokens", repetitions=1, warmup=0)["slow"]
    assert 0 < found.median <= 200


def test_the_ratio_is_the_median_over_the_repetitions():
    ours, theirs = Series("ours", "tokens/s", (10.0, 40.0, 90.0)), Series("HF", "tokens/s", (10.0, 10.0, 30.0))
    row = against("step", ours, theirs, 2.5)
    assert (row.peer, row.ratio, row.spread, row.met) == ("HF", 3.0, (1.0, 4.0), True)
    assert against("step", ours, theirs).met is None


@pytest.mark.parametrize(
    ("ratio", "bound", "met"),
    [(2.0, "at least", True), (1.9, "at least", False), (2.0, "at most", True), (2.1, "at most", False)],
)
def test_a_target_is_met_on_its_side(ratio, bound, met):
    assert Row("s", "p", ratio, 2.0, bound).met is met


def test_what_was_not_reached_is_not_met():
    assert Row("s", "p", None, 2.0).met is False
    assert measured("help", "seconds", Series("ours", "s", (0.2, 0.9, 0.4)), 0.5).ratio == 0.4


def test_a_child_tells_what_it_took():
    program = "import time; x = bytearray(10**8); x[::4096] = b'1' * len(x[::4096]); print(len(x)); time.sleep(0.2)"
    found = child([sys.executable, "-c", program])
    assert found.output == "100000000\n"
    assert 10**8 < found.peak_bytes < 3 * 10**8
    assert 0 < found.processor_seconds < found.seconds + 1


def test_a_child_that_fails_is_an_error_with_what_it_said():
    with pytest.raises(RuntimeError, match="no such luck"):
        child([sys.executable, "-c", "raise SystemExit('no such luck')"])
