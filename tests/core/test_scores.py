import math

from maskline.core.scores import CurveSpec, FigureSpec, Headline, Report, finite
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
    assert content["headlines"] == [{"metric": "mlm.loss", "name": "MLM loss", "better": "lower", "against": {}}]
