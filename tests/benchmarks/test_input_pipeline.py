import pytest

from benchmarks import input_pipeline
from maskline.settings.params import load


def test_batches_and_steps_take_turns(tiny_project, monkeypatch):
    monkeypatch.setattr(input_pipeline, "load", lambda _: load(tiny_project / "params.yaml"))
    monkeypatch.setattr(input_pipeline, "reference_data", lambda: tiny_project / "data")
    monkeypatch.setattr(input_pipeline, "UPDATES", 7)
    monkeypatch.setattr(input_pipeline, "STEP_UPDATES", 2)
    alone, beside = input_pipeline.rows()
    made, eaten = beside.series
    assert alone.series == (made,)
    assert (alone.bound, alone.target, beside.target) == ("at least", 2e6, 20.0)
    assert made.unit == eaten.unit == "tokens/s"
    assert min(*made.values, *eaten.values) > 0
    assert beside.ratio == pytest.approx(sorted(a / b for a, b in zip(made.values, eaten.values, strict=True))[2])
