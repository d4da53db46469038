"""What is seen of runs while they train, are killed, go on, and run in copies."""

import json
import os
import threading
from http.client import HTTPConnection

import pytest

from maskline.core.errors import UserError
from maskline.core.storage import append_csv, write_csv, write_json, write_text
from maskline.page.document import Page, data_of
from maskline.page.live import UNKNOWN, Watch, state
from maskline.page.serve import Server, pause_after

TRAIN = ("step", "epoch", "tokens", "mlm_loss", "nsp_loss", "loss")
VALIDATION = ("step", "mlm_loss", "loss")
SETTINGS = {"params.yaml": {"seed": 0, "tasks": {}, "pretrain": {"peak_lr": 0.002}, "compute": {"threads": 0}}}


@pytest.fixture(name="settings")
def _settings():
    """Folder -> its settings; all have the same at first."""
    return {}


@pytest.fixture(name="watch")
def _watch(tmp_path, settings):
    write_text(tmp_path / "params.yaml", "seed: 0\n")
    return Watch(tmp_path, lambda folder: settings.get(folder.name, SETTINGS))


def train(folder, steps, *, shift=0.0, identity="pretrain"):
    """Leave what a run leaves after some steps."""
    rows = [{"step": 10 * i, "tokens": 100 * i, "mlm_loss": 7 - i / 9 + shift, "loss": 8 - i / 9} for i in steps]
    write_csv(folder / "train.csv", rows, TRAIN, missing="nan")
    scores = [{name: row[name] for name in VALIDATION} for row in rows if row["step"] % 50 == 0]
    write_csv(folder / "validation.csv", scores, VALIDATION)
    if identity:
        write_json(folder / "identity.json", {"stage": identity, "params": {"pretrain": {"steps": 200}}})


def points(page, key="live-0-pretraining-mlm-loss"):
    (figure,) = [figure for section in page.sections for figure in section.figures if figure.key == key]
    data = figure.data["rows"]
    return [dict(zip(data.columns, row, strict=True)) for row in data.rows]


def test_nothing_trained_yet(watch):
    page = watch.page()
    assert [section.key for section in page.sections] == ["now", "reports"]
    assert "Nothing has been trained here yet" in page.sections[0].html


def test_a_row_is_there_as_soon_as_it_is_written(watch, tmp_path):
    folder = tmp_path / ".runs" / "f"
    train(folder, range(1, 6))
    assert [row["step"] for row in points(watch.page()) if row["split"] == "training"] == [10, 20, 30, 40, 50]
    append_csv(folder / "train.csv", {"step": 60, "tokens": 600, "mlm_loss": 1.25, "loss": 2}, TRAIN, missing="nan")
    last = [row for row in points(watch.page()) if row["split"] == "training"][-1]
    assert (last["step"], last["value"], last["tokens"]) == (60, 1.25, 600)
    (run,) = watch.runs()
    assert (run.stage, run.planned, run.finished) == ("pretrain", 200, False)
    assert "60 of 200" in watch.page().sections[0].html


def test_a_killed_run_that_goes_on_from_its_last_state_loses_the_rows_after_it(watch, tmp_path):
    folder = tmp_path / ".runs" / "f"
    train(folder, range(1, 9))
    assert len(points(watch.page())) == 8 + 1
    train(folder, range(1, 6))  # it began again after its state of step 50
    assert [row["step"] for row in points(watch.page()) if row["split"] == "training"] == [10, 20, 30, 40, 50]


def test_a_file_that_is_being_written_keeps_what_was_there_before(watch, tmp_path):
    folder = tmp_path / ".runs" / "f"
    train(folder, range(1, 6))
    watch.page()
    with (folder / "train.csv").open("a") as file:
        file.write("60,0,half")
    assert len([row for row in points(watch.page()) if row["split"] == "training"]) == 5


def test_a_run_that_is_removed_is_gone(watch, tmp_path):
    folder = tmp_path / ".runs" / "f"
    train(folder, range(1, 6))
    assert watch.runs()
    (folder / "train.csv").unlink()
    assert watch.runs() == []


def test_before_its_first_state_a_run_has_no_name(watch, tmp_path):
    train(tmp_path / ".runs" / "f", range(1, 3), identity=None)
    assert [run.stage for run in watch.runs()] == [UNKNOWN]


def test_a_finished_run_and_another_of_the_same_stage(watch, tmp_path):
    for name, when in (("old", 1000), ("new", 2000)):
        train(tmp_path / ".runs" / name, range(1, 6 if name == "old" else 4))
        os.utime(tmp_path / ".runs" / name / "train.csv", (when, when))
    write_json(tmp_path / ".runs" / "new" / "state-00000030.json", {"step": 30, "finished": True})
    (run,) = watch.runs()
    assert (run.changed, run.finished, len(run.training.train["step"])) == (2000, True, 3)
    assert "finished" in watch.page().sections[0].html


def test_experiments_of_a_queue_and_seeds_stand_over_each_other(watch, tmp_path, settings):
    train(tmp_path / ".runs" / "f", range(1, 6))
    places = {
        "tmpa": (tmp_path / ".dvc/tmp/exps/tmpa", {"pretrain": {"peak_lr": 0.001}}),
        "tmpb": (tmp_path / ".dvc/tmp/exps/standalone/tmpb", {"compute": {"threads": 2}}),
        "1": (tmp_path / ".runs/seeds/abc/1", {"seed": 1}),
    }
    for name, (place, changes) in places.items():
        train(place / ".runs" / "f", range(1, 6), shift=0.5)
        settings[name] = {"params.yaml": SETTINGS["params.yaml"] | changes}
    names = ["here", "pretrain.peak_lr=0.001", "as here, in tmpb", "seed=1"]
    assert [run.experiment for run in watch.runs()] == names
    assert list(dict.fromkeys(row["series"] for row in points(watch.page()))) == names


def test_two_copies_of_the_same_changes_are_told_apart(watch, tmp_path, settings):
    for name in ("tmpa", "tmpb"):
        train(tmp_path / ".dvc/tmp/exps" / name / ".runs" / "f", range(1, 6))
        settings[name] = {"params.yaml": SETTINGS["params.yaml"] | {"seed": 1}}
    assert [run.experiment for run in watch.runs()] == ["seed=1", "seed=1, in tmpb"]


def test_a_project_in_a_folder_of_its_repository(tmp_path):
    (tmp_path / ".git").mkdir()
    project = tmp_path / "work" / "project"
    write_text(project / "params.yaml", "seed: 0\n")
    train(project / ".dvc/tmp/exps/tmpa/work/project/.runs/f", range(1, 6))
    assert len(Watch(project, lambda _: SETTINGS).runs()) == 1


def test_curves_of_a_task(watch, tmp_path):
    folder = tmp_path / ".runs" / "f"
    write_csv(folder / "train.csv", [{"step": 1, "tokens": 9, "loss": 0.5}], ("step", "tokens", "loss"))
    write_csv(folder / "validation.csv", [{"step": 1, "loss": 0.4, "macro_f1": 0.9}], ("step", "loss", "macro_f1"))
    write_json(folder / "identity.json", {"stage": "finetune sentiment", "params": {}})
    section = watch.page().sections[1]
    assert section.title == "Live: finetune sentiment"
    assert [figure.title for figure in section.figures] == ["loss", "macro f1"]


def test_what_did_not_change_is_not_read_again(watch, made, tmp_path, monkeypatch):
    made(tmp_path)
    train(tmp_path / ".runs" / "f", range(1, 6))
    before = state(watch.page(), data_of)
    for name in ("read_training", "run_sections", "lead"):
        monkeypatch.setattr(f"maskline.page.live.{name}", None)
    assert state(watch.page(), data_of) == before


@pytest.fixture(name="server")
def _server(watch):
    times = iter(range(0, 10000, 100))
    with Server(watch, 0, lambda: next(times)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path, **headers):
    """Return the status of an answer and its text."""
    connection = HTTPConnection("127.0.0.1", server.server_port)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, content


def test_the_server_says_what_changed_since(server, tmp_path):
    first = json.loads(ask(server, "/state")[1])
    assert ask(server, f"/state?since={first['version']}") == (200, "null")
    train(tmp_path / ".runs" / "f", range(1, 6))
    second = json.loads(ask(server, f"/state?since={first['version']}")[1])
    assert [section["key"] for section in second["sections"]] == ["now", "live-0", "reports"]
    assert len(second["figures"]["live-0-pretraining-mlm-loss"]["data"]["rows"]["rows"]) == 6
    assert second["version"] != first["version"]


def test_looks_that_take_long_are_taken_less_often(watch, monkeypatch):
    assert [pause_after(seconds) for seconds in (0.001, 0.05, 2.0)] == [2.0, 5.0, 30.0]  # a hundredth of a core
    times, taken = iter([0, 4.9, 5.0]), iter([0.0, 0.05, 1.0, 1.05])
    monkeypatch.setattr("maskline.page.serve.thread_time", lambda: next(taken))
    looks = []
    monkeypatch.setattr(watch, "page", lambda: looks.append(1) or Page("t", "", []))
    with Server(watch, 0, lambda: next(times)) as server:
        for number in (1, 1, 2):
            server.state()
            assert len(looks) == number


def test_the_server_answers_only_to_its_own_name(server):
    assert ask(server, "/state", Host="evil.example") == (403, "")
    assert ask(server, "/state", Host="localhost:99")[0] == 200
    assert ask(server, "/params.yaml") == (404, "")


def test_a_port_that_is_taken(server, watch):
    with pytest.raises(UserError, match=r"port \d+ cannot be had .*: choose another with --port"):
        Server(watch, server.server_port)
