import math

import pytest

from maskline.core.scores import CurveSpec, FigureSpec, Headline, Report, finite, interval, wilson
from maskline.core.storage import read_json


def test_what_is_no_finite_number_becomes_none():
    values = {"loss": 1.5, "zero": 0.0, "perplexity": math.inf, "low": -math.inf, "accuracy": math.nan, "absent": None}
    assert finite(values) == {
        "loss": 1.5, "zero": 0.0, "perplexity": None, "low": None, "accuracy": None, "absent": None,
    }  # fmt: skip


def test_a_report_is_json_that_names_everything(tmp_path):
    report = Report(
        "mood",
        [Headline("accuracy", "accuracy", "higher", {"majority_accuracy": "majority class"})],
        [FigureSpec("confusion", "matrix", "confusion.csv", "confusion", x="predicted", y="label", value="count")],
        [CurveSpec("macro_f1", "macro-F1")],
    )
    report.write(tmp_path / "report.json")
    assert read_json(tmp_path / "report.json") == {
        "title": "mood",
        "headlines": [
            {
                "metric": "accuracy",
                "name": "accuracy",
                "better": "higher",
                "against": {"majority_accuracy": "majority class"},
                "count": None,
            }
        ],
        "figures": [
            {
                "name": "confusion",
                "shape": "matrix",
                "table": "confusion.csv",
                "title": "confusion",
                "x": "predicted",
                "y": "label",
                "value": "count",
            }
        ],
        "curves": [{"column": "macro_f1", "name": "macro-F1"}],
    }


def test_figures_and_curves_may_be_left_out(tmp_path):
    Report("", [Headline("mlm.loss", "MLM loss", "lower")]).write(tmp_path / "report.json")
    content = read_json(tmp_path / "report.json")
    assert content["figures"] == content["curves"] == []
    (line,) = content["headlines"]
    assert line == {"metric": "mlm.loss", "name": "MLM loss", "better": "lower", "against": {}, "count": None}


@pytest.mark.parametrize(
    ("share", "count", "low", "high"),
    [(0.5, 10, 0.2366, 0.7634), (0.9, 100, 0.8256, 0.9448), (1.0, 12, 0.7575, 1.0), (0.0, 12, 0.0, 0.2425)],
)
def test_the_interval_of_a_share_is_that_of_wilson(share, count, low, high):
    assert wilson(share, count) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_of_no_example_every_share_is_possible():
    assert wilson(0.0, 0) == (0.0, 1.0)
    assert interval("accuracy", None) == {"accuracy_low": None, "accuracy_high": None}
