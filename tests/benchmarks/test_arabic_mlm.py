from dataclasses import asdict

import pytest
import torch

from benchmarks import arabic_mlm
from benchmarks.arabic_mlm import Score
from benchmarks.ours import objective
from maskline.core.errors import UserError
from tests.tiny import tiny_params, write_data

CPU = torch.device("cpu")
CHANGES = {
    "pretrain.precision": "fp32", "model.mlm_head": "linear", "model.activation": "relu", "pretrain.nsp": False,
    "pretrain.optimizer": "adamw", "pretrain.steps": None, "pretrain.epochs": 2, "pretrain.schedule": "noam",
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def params():
    return tiny_params(CHANGES)


@pytest.fixture(autouse=True)
def _short(tmp_path, monkeypatch, params, data):
    monkeypatch.setattr(arabic_mlm, "REPORTS", tmp_path)
    monkeypatch.setattr(arabic_mlm, "UPDATES", {"ours": 1, "plain": 1})
    monkeypatch.setattr(arabic_mlm, "_prepare", lambda: (params, data))
    monkeypatch.setattr(arabic_mlm, "are_there", lambda: True)


def test_both_are_run_and_recorded_and_the_short_run_builds_on_it(tmp_path, params, data):
    with pytest.raises(UserError, match="arabic_mlm --full"):
        arabic_mlm.rows()
    arabic_mlm.full_rows()
    record = arabic_mlm.read_json(tmp_path / "arabic_mlm_runs.json")
    updates = objective(params, data, CPU).batches.updates
    for scores in record.values():
        assert [(score["epoch"], score["updates"]) for score in scores] == [(1, updates(1)), (2, updates(2))]
    times, losses = arabic_mlm.rows()
    assert times.ratio > 0
    assert losses.ratio == record["ours"][-1]["mlm_loss"] - record["plain"][-1]["mlm_loss"]


def test_a_figure_is_met_on_its_own_side(params, data):
    def record(loss):
        return {
            "ours": [asdict(Score(5, 100, loss, 0.1))],
            "plain": [asdict(Score(5, 100, 7.0, 0.1))],
        }

    assert arabic_mlm._rows(params, data, record(7.01))[1].met
    assert arabic_mlm._rows(params, data, record(6.5))[1].met
    assert not arabic_mlm._rows(params, data, record(7.03))[1].met


def test_the_textbook_sees_every_example_once_an_epoch(params, data):
    batches = objective(params, data, CPU).batches
    seen = [tuple(example["input_ids"]) for batch in arabic_mlm.epoch_of(batches, 0, 6) for example in batch]
    assert len(seen) == batches.order.count
    assert len(arabic_mlm.epoch_of(batches, 0, 6)) == batches.updates(1)


def test_absent_articles_are_said(monkeypatch):
    monkeypatch.setattr(arabic_mlm, "are_there", lambda: False)
    for rows in (arabic_mlm.rows(), arabic_mlm.full_rows()):
        assert [(row.ratio, row.met) for row in rows] == [(None, False)]
        assert "not measured" in rows[0].note
