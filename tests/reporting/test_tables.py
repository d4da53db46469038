import io

import pytest
from rich.console import Console

from maskline.core.scores import Headline, Report
from maskline.reporting.scores import Scores
from maskline.reporting.tables import format_number, markdown, results, results_markdown
from tests.conftest import HEADLINES


@pytest.mark.parametrize(
    ("value", "text"),
    [(4.31249, "4.312"), (0, "0.000"), (1.25e-07, "1.25e-07"), (-2e5, "-2.00e+05"), (None, "—"), (float("nan"), "—")],
)
def test_numbers(value, text):
    assert format_number(value) == text


def test_a_number_beside_another_takes_its_notation():
    assert format_number(0.0004, sign="+", beside=4.0) == "+0.000"
    assert format_number(0.0004, sign="+", beside=1e-5) == "+4.00e-04"


def test_markdown_is_aligned_and_keeps_bars_out_of_the_cells():
    table = markdown(["name", "loss"], [["a|b", "4.3"], ["c", "12.3"]], [False, True])
    assert table == "| name | loss |\n| ---- | ---: |\n| a\\|b |  4.3 |\n| c    | 12.3 |\n"


def test_results_put_each_number_beside_what_it_is_held_against():
    metrics = {
        "mlm.loss": 4.3, "mlm.perplexity": 73.7, "mlm.unigram_loss": 6.9,
        "nsp.accuracy": None, "nsp.overlap_accuracy": 0.6, "nsp.length_accuracy": 0.5,
    }  # fmt: skip
    task = {"accuracy": 0.889, "macro_f1": 0.861, "tfidf_accuracy": 0.884, "scratch_accuracy": 0.86}
    against = {"scratch_accuracy": "without pretraining", "tfidf_accuracy": "TF-IDF + logistic regression"}
    scores = [
        Scores(metrics, Report("", HEADLINES)),
        Scores(task, Report("sentiment", [Headline("accuracy", "accuracy", "higher", against)])),
    ]
    text = io.StringIO()
    Console(file=text, width=100).print(results(scores))
    lines = [" ".join(line.split()) for line in text.getvalue().splitlines()]
    assert "MLM loss (nats) 4.300 6.900 unigram frequencies" in lines
    assert "NSP accuracy — 0.600 word overlap" in lines
    assert "sentiment accuracy 0.889 0.860 without pretraining" in lines
    assert "0.884 TF-IDF + logistic regression" in lines
    assert "\x1b" not in text.getvalue()


def test_names_in_the_results_are_shown_as_they_are():
    report = Report("\x1b[31m[red]mood", [Headline("accuracy", "accuracy", "higher", {"tfidf": "[b]TF\x07-IDF"})])
    text = io.StringIO()
    Console(file=text, width=100).print(results([Scores({"accuracy": 0.5, "tfidf": 0.25}, report)]))
    assert "\x1b" not in text.getvalue()
    assert "�[31m[red]mood accuracy" in text.getvalue()
    assert "[b]TF�-IDF" in text.getvalue()
    assert "\\[red\\]mood" in results_markdown([Scores({"accuracy": 0.5, "tfidf": 0.25}, report)])
