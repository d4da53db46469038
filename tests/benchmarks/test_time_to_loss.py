from dataclasses import asdict, replace

import pytest
import torch

from benchmarks import time_to_loss
from benchmarks.measure import Row
from benchmarks.ours import objective
from benchmarks.time_to_loss import Score, UpdateSeconds
from maskline.core.errors import UserError
from tests.tiny import tiny_params, write_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def params():
    return tiny_params({"pretrain.precision": "fp32"})


@pytest.fixture(autouse=True)
def _short(tmp_path, monkeypatch, params, data):
    monkeypatch.setattr(time_to_loss, "REPORTS", tmp_path)
    monkeypatch.setattr(time_to_loss, "SECONDS", 0.2)
    monkeypatch.setattr(time_to_loss, "LEARNING_RATES", (1e-4, 1e-2))
    monkeypatch.setattr(time_to_loss, "CHASE_SECONDS", 0.4)
    monkeypatch.setattr(time_to_loss, "CHASE_SCORES", 4)
    monkeypatch.setattr(time_to_loss, "TURN_UPDATES", 1)
    monkeypatch.setattr(time_to_loss, "SHARES", (0.5,))
    monkeypatch.setattr(time_to_loss, "_prepare", lambda: (params, data))


def test_a_sweep_is_recorded_and_the_short_run_builds_on_it(tmp_path):
    with pytest.raises(UserError, match="time_to_loss --full"):
        time_to_loss.rows()
    full = time_to_loss.full_rows()
    record = time_to_loss.read_json(tmp_path / "time_to_loss_sweep.json")
    assert record["best"] == min(record["sweep"], key=lambda run: run["mlm_loss"])["peak_lr"]
    assert [run["peak_lr"] for run in record["sweep"]] == [1e-4, 1e-2]
    pace = record["pace"]
    assert {run["updates"] for run in record["sweep"]} == {max(2, round(0.2 / pace["hf"]))}
    assert all(run["seconds"] == run["updates"] * pace["hf"] for run in record["sweep"])
    assert [score["updates"] for score in record["chase"]] == sorted({score["updates"] for score in record["chase"]})
    assert record["chase"][-1]["updates"] <= max(2, round(0.4 / pace["hf"]))
    short = time_to_loss.rows()
    assert [row.peer for row in short] == [row.peer for row in full]
    assert short[1] == full[1]


PER_UPDATE = UpdateSeconds(ours=0.02, hf=0.05)


def test_ours_ends_where_the_goal_is_reached(params, data):
    initial = objective(params, data, torch.device("cpu")).evaluate()["mlm_loss"]
    scores = time_to_loss.ours(params, data, 0.5, PER_UPDATE, until=initial + 1)
    assert len(scores) == 1
    whole = time_to_loss.ours(params, data, 0.5, PER_UPDATE, until=0.0)
    assert [score.updates for score in whole] == [*range(3, 25, 3), 25]
    assert whole[-1].seconds == pytest.approx(0.5)


def test_hf_is_scored_by_our_code_and_stops_at_the_goal(params, data):
    stopped = time_to_loss.hugging_face(params, data, 1e-3, 0.5, PER_UPDATE, until=100.0)
    assert [score.updates for score in stopped] == [2]
    assert 0 < stopped[0].mlm_loss < 10
    whole = time_to_loss.hugging_face(params, data, 1e-3, 0.5, PER_UPDATE)
    assert [(score.updates, score.seconds) for score in whole] == [(10, pytest.approx(0.5))]


def test_an_update_of_both_takes_some_time(params, data):
    pace = time_to_loss.measured_update_seconds(params, data)
    assert 0 < pace.ours < 5
    assert 0 < pace.hf < 5


GOAL = Score(seconds=240.0, updates=2000, mlm_loss=5.0, nsp_accuracy=0.5)


@pytest.mark.parametrize(("loss", "ratio", "met"), [(4.9, 8.0, True), (5.1, None, False)])
def test_a_goal_that_is_not_reached_is_said(monkeypatch, loss, ratio, met):
    monkeypatch.setattr(time_to_loss, "ours", lambda *_: [Score(30.0, 300, loss, 0.6)])
    row = time_to_loss._against_hf(None, None, PER_UPDATE, [GOAL])
    assert (row.ratio, row.met) == (ratio, met)
    assert ("did not reach" in row.note) is not met


@pytest.mark.parametrize(("loss", "words"), [(4.4, "reached it"), (4.6, "lower bound")])
def test_the_chase_says_whether_it_ended(loss, words):
    record = {
        "ours": asdict(replace(GOAL, mlm_loss=4.5)),
        "chase": [asdict(replace(GOAL, seconds=2400.0, mlm_loss=loss))],
    }
    row = time_to_loss._chase(record)
    assert isinstance(row, Row)
    assert row.ratio == 10
    assert words in row.note
