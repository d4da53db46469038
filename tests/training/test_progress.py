import os
import re

import pytest
from rich.console import Console

from maskline.training import progress
from maskline.training.progress import Reporter


@pytest.fixture(name="clock")
def _clock(monkeypatch):
    """Return a list whose only item is what the clock shows, in seconds."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def steps(reporter, clock, numbers, tokens=100, seconds=4.0):
    for step in numbers:
        clock[0] += seconds
        reporter.update(step, tokens, {"mlm_loss": 7.0 - step / 10, "lr": 1e-4})


def test_without_a_terminal_there_is_a_plain_line_every_few_seconds(clock, capsys):
    with Reporter("pretrain", 20, "auto") as reporter:
        steps(reporter, clock, range(1, 9))
    lines = capsys.readouterr().out.splitlines()
    # 100 tokens in 4 seconds; of the first step nobody knows when it began.
    assert lines == [
        "pretrain: step 3/20  mlm_loss 6.7  lr 0.0001  25 tokens/s  68 s left",
        "pretrain: step 6/20  mlm_loss 6.4  lr 0.0001  25 tokens/s  56 s left",
    ]


def test_after_a_resumption_the_speed_is_that_of_this_process(clock, capsys):
    with Reporter("pretrain", 1010, "lines") as reporter:
        steps(reporter, clock, range(1001, 1005))
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "pretrain: step 1003/1010  mlm_loss -93.3  lr 0.0001  25 tokens/s  28 s left"


def test_scores_and_remarks_are_lines_of_their_own(capsys):
    with Reporter("pretrain", 20, "lines") as reporter:
        reporter.say("resuming after step 3 from [.runs]/x " + "y" * 200)
        reporter.evaluated(4, {"mlm_loss": 6.5, "nsp_loss": None, "loss": 6.5})
    assert capsys.readouterr().out.splitlines() == [
        "resuming after step 3 from [.runs]/x " + "y" * 200,
        "pretrain: step 4/20  validation  mlm_loss 6.5  loss 6.5",
    ]


def test_remarks_have_the_width_of_a_terminal_and_steer_none(monkeypatch, capsys):
    monkeypatch.setattr(Console, "_environ", os.environ)
    for name, value in {"COLUMNS": "40", "FORCE_COLOR": "1", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    with Reporter("pretrain", 20, "lines") as reporter:
        reporter.evaluated(4, {"mlm_loss": 6.5432, "mlm_accuracy": 0.12345, "nsp_loss": 0.6931})
        reporter.say("\x1b[31m is damaged")
    assert capsys.readouterr().out.splitlines() == [
        "pretrain: step 4/20  validation",
        "  mlm_loss 6.543  mlm_accuracy 0.1235",
        "  nsp_loss 0.6931",
        "�[31m is damaged",
    ]


def test_a_process_that_does_not_lead_is_silent(clock, capsys, monkeypatch):
    monkeypatch.setattr(progress, "rank", lambda: 1)
    with progress.process_reporter("pretrain", 20, type("Compute", (), {"progress": "lines"})) as reporter:
        reporter.say("something")
        steps(reporter, clock, range(1, 20))
    assert capsys.readouterr().out == ""


def test_a_bar_shows_step_numbers_and_speed(clock, capsys):
    with Reporter("pretrain", 20, "bar") as reporter:
        steps(reporter, clock, range(1, 6))
        reporter.say("a line above it")
    shown = capsys.readouterr().out
    assert "5/20" in shown
    assert "25 tokens/s" in shown
    assert "a line above it" in shown


@pytest.fixture(name="line_of")
def _line_of(monkeypatch, clock, capsys):
    """Return what gives the line of a terminal of some width, as it is written, after some updates."""

    def line_of(width, numbers, total, seconds):
        monkeypatch.setattr(Console, "_environ", os.environ)  # Rich keeps that of its import
        for name, value in {"COLUMNS": str(width), "FORCE_COLOR": "1", "TERM": "xterm"}.items():
            monkeypatch.setenv(name, value)
        with Reporter("finetune sentiment", total, "bar") as reporter:
            for step in numbers:
                clock[0] += seconds
                reporter.update(step, 8000, {"mlm_loss": 4.1234, "nsp_loss": 0.5432, "lr": 1.2e-4})
        written = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out)
        return [line for line in re.split(r"[\r\n]+", written) if line.strip()][-1].rstrip()

    return line_of


BAR = "━" * 10


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (40, "1843/2400  mlm_loss 4.123  0:18:34 left"),
        (60, "finetune sentiment  1843/2400  mlm_loss 4.123  0:18:34 left"),
        (80, "finetune sentiment  1843/2400  mlm_loss 4.123  4,000 tokens/s  0:18:34 left"),
        (
            120,
            "finetune sentiment  1843/2400  mlm_loss 4.123  nsp_loss 0.5432  lr 0.00012  4,000 tokens/s  0:18:34 left",
        ),
    ],
)
def test_at_any_width_a_bar_shows_step_loss_and_time_left_and_the_rest_as_room_allows(line_of, width, expected):
    line = line_of(width, range(1840, 1844), 2400, seconds=2.0)
    assert line[: len(expected)] == expected
    assert set(line[len(expected) :]) <= set(" ━╸")
    assert len(line) <= width
    assert (BAR[:-2] in line) == (width == 120)


@pytest.mark.parametrize("width", range(40, 140, 3))
@pytest.mark.parametrize(("total", "seconds", "left"), [(1_000_000, 2.0, "23d 3h"), (1_000_000, 0.08, "22:13:20")])
def test_a_long_run_fits_too(line_of, width, total, seconds, left):
    line = line_of(width, range(1, 5), total, seconds)
    for text in ("4/1000000", "mlm_loss 4.123", left):
        assert text in line
    assert len(line) <= width


def test_the_longest_numbers_fit_into_forty_columns(line_of):
    assert line_of(40, range(999_000, 999_004), 9_999_999, 0.0095) == "999003/9999999 mlm_loss 4.123 23:45:09"
