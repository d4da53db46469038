import pytest

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
