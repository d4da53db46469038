import json

import pytest

from benchmarks import SUBJECTS, report
from benchmarks.__main__ import main
from benchmarks.measure import Row, Series, against
from maskline.core.errors import UserError
from maskline.core.storage import read_json

OURS, THEIRS = Series("ours", "tokens/s", (30.0, 33.0)), Series("HF", "tokens/s", (10.0, 10.0))


def test_subjects_measured_apart_end_in_one_summary(tmp_path):
    report.write_subject("startup", [Row("start-up", "help", 0.7, 0.5, "at most")], 1.0, tmp_path)
    report.write_subject("training_step", [against("step", OURS, THEIRS, 3.0)], 2.0, tmp_path)
    summary = read_json(tmp_path / "summary.json")
    assert summary == [
        {"subject": "step", "peer": "HF", "ratio": pytest.approx(3.15), "target": 3.0, "met": True},
        {"subject": "start-up", "peer": "help", "ratio": 0.7, "target": 0.5, "met": False},
    ]
    report.write_subject("startup", [Row("start-up", "help", 0.4, 0.5, "at most")], 1.0, tmp_path)
    assert [row["met"] for row in read_json(tmp_path / "summary.json")] == [True, True]


def test_a_report_has_machine_versions_threads_and_every_raw_value(tmp_path):
    report.write_subject("training_step", [against("step", OURS, THEIRS, 3.0, note="a | note")], 2.0, tmp_path)
    content = json.loads((tmp_path / "training_step.json").read_text())
    assert content["machine"]["cores"] >= 1
    assert {"python", "torch", "transformers"} <= content["versions"].keys()
    assert content["threads"].keys() >= {"torch"}
    (row,) = content["rows"]
    assert [series["values"] for series in row["series"]] == [[30.0, 33.0], [10.0, 10.0]]
    assert row["spread"] == [3.0, 3.3]
    page = (tmp_path / "training_step.md").read_text()
    assert "3.15 (3 to 3.3)" in page
    assert "at least 3" in page


def test_a_figure_that_is_no_number_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Out of range"):
        report.write_subject("startup", [Row("s", "p", float("nan"), 1.0)], 1.0, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_table_shows_every_row():
    row = report._content(against("step", OURS, THEIRS, 3.0))
    assert report.table("step", [row, row]).row_count == 2


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(UserError, match="no benchmark training: take training_step"):
        main(["training"])


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_subject_is_a_module_with_rows(name):
    source = (report.Path("benchmarks") / f"{name}.py").read_text(encoding="utf-8")
    assert "\ndef rows() -> list[Row]:\n" in source
