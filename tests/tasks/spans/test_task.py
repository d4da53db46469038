import json

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import log_softmax

from maskline.core.storage import read_csv, write_csv
from maskline.dataset.read import Dataset
from maskline.model.attention import Layout
from maskline.reporting.task_figures import SHAPES
from maskline.tasks.spans import reading as module
from maskline.tasks.spans.reading import Answer, Reading
from maskline.tasks.spans.task import Predictions, Spans, make_task
from maskline.tokenization.load import load_tokenizer
from tests.tasks.spans.asked import PIECES, columns, params, record, write_letters
from tests.tiny import SPECIAL

CPU = torch.device("cpu")
PARAMS = params({"model.initializer_range": 0.2}).model
READING = Reading(max_seq_length=10, max_question_tokens=4, stride=3, max_answer_tokens=5, no_answer=False)
TASK = Spans(READING, "en")
WITH_NONE = Spans(Reading(**{**vars(READING), "no_answer": True}), "en")
UNUSED = None
"""The baseline needs no encoder."""


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return load_tokenizer(write_letters(tmp_path_factory.mktemp("tokenizer") / "tokenizer"))


QUESTIONS = columns(
    record("c d e f g h i j", "a b", "h i"),
    record("x y z", "a", "x", "z"),
    record("c d e f g h i j", "b", "d e f g h i"),  # in no window whole
    record("k l m", "a"),  # no answer
    record("p q r s t u v w", "a b", "s t"),  # in both windows
)


def test_targets_are_of_the_first_answer_in_each_window(tokenizer):
    encoded = TASK.encode(QUESTIONS, tokenizer, 10)
    assert encoded.windows.bounds.tolist() == [0, 2, 3, 5, 6, 8]
    assert encoded.targets.tolist() == [[0, 0], [3, 4], [1, 1], [0, 0], [0, 0], [0, 0], [4, 5], [1, 2]]
    assert encoded.sizes.tolist() == [10, 10, 7, 10, 9, 7, 10, 10]
    assert encoded.answers == QUESTIONS["answers"]
    assert (encoded.cut, encoded.unk_rate) == (0, 0)
    batch, texts = TASK.batch(encoded, np.array([6, 2])), encoded.texts.packed(np.array([6, 2]))
    assert texts.input_ids.tolist() == batch.windows.input_ids.tolist()
    assert texts.token_type_ids.tolist() == batch.windows.token_type_ids.tolist()
    assert batch.targets.tolist() == [[4, 5], [1, 1]]
    assert TASK.targets(batch) == {"loss": 4, "tokens": 17}


def test_without_questions_there_is_nothing(tokenizer):
    encoded = TASK.encode(columns(), tokenizer, 10)
    assert encoded.targets.shape == (0, 2)
    assert encoded.sizes.shape == (0,)


def new_model(dropout=0.0):
    model = TASK.new_model(PARAMS.model_copy(update={"dropout": dropout}), len(PIECES), dropout)
    model.reset(torch.Generator().manual_seed(5))
    return model


def test_the_dropout_before_the_head_is_the_one_asked_for():
    assert TASK.new_model(PARAMS, len(PIECES), 0.3).dropout.p == 0.3


def log_probabilities(model, encoded, window):
    """Return those of the candidates of a window, (C, 2), with the window alone."""
    ids = torch.from_numpy(encoded.windows.input_ids[window])
    prefix = int(encoded.windows.prefixes[window])
    types = (torch.arange(len(ids)) >= prefix).long()
    with torch.no_grad():
        logits = model(ids, types, Layout.of(torch.tensor([len(ids)])))
    return log_softmax(logits[[0, *range(prefix, len(ids) - 1)]], 0)


def test_the_loss_is_the_sum_over_starts_and_ends(tokenizer):
    model, encoded = new_model(), TASK.encode(QUESTIONS, tokenizer, 10)
    for rows in ([2], [1, 5, 2, 0], range(8)):
        expected = 0.0
        for window in rows:
            found, (start, end) = log_probabilities(model, encoded, window), encoded.targets[window]
            expected -= (found[start, 0] + found[end, 1]).item()
        batch = TASK.batch(encoded, np.array(rows))
        assert TASK.loss(model, batch, CPU).item() == pytest.approx(expected, abs=1e-4)


def test_windows_without_the_answer_learn_to_say_so(tokenizer):
    model, encoded = new_model(), TASK.encode(columns(record("k l m", "a")), tokenizer, 10)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(30):
        optimizer.zero_grad()
        TASK.loss(model, TASK.batch(encoded, np.array([0])), CPU).backward()
        optimizer.step()
    assert TASK.predict(model, encoded, CPU).answers[0].span is not None
    assert WITH_NONE.predict(model, encoded, CPU).answers[0].span is None


class Known(nn.Module):
    """A network that scores each piece alone: those of `starts` as start, of `ends` as end."""

    def __init__(self, starts, ends, cls=0.0):
        super().__init__()
        self.logits = nn.Parameter(torch.full((len(PIECES), 2), -20.0))
        with torch.no_grad():
            self.logits[SPECIAL.cls] = cls
            self.logits[SPECIAL.sep] = 90.0  # no candidate
            for column, scores in enumerate((starts, ends)):
                for letter, score in scores.items():
                    self.logits[PIECES.index(letter), column] = score

    def forward(self, input_ids, token_type_ids, layout):  # noqa: ARG002
        return self.logits[input_ids]


@pytest.mark.parametrize("size", [1, 17, 4096])
def test_answers_are_characters_of_the_context_whatever_the_batch(tokenizer, monkeypatch, size):
    monkeypatch.setattr(module, "BATCH_TOKENS", size)
    model = Known({"h": 5, "x": 4, "s": 3, "a": 50}, {"i": 5, "y": 4, "t": 3, "b": 50})  # a and b are of the question
    encoded = TASK.encode(QUESTIONS, tokenizer, 10)
    predictions = TASK.predict(model, encoded, CPU)
    contexts = QUESTIONS["context"]
    texts = [answer.text(context) for answer, context in zip(predictions.answers, contexts, strict=True)]
    assert texts[:3] == ["h i", "x y", "h i"]
    assert texts[4] == "s t"
    assert predictions.answers[0].span == (10, 13)
    assert predictions.answers[0].probability > 0.99
    assert predictions.answers[0].no_answer == 0
    assert predictions.targets == 16
    # No answer may be said: to the question about k l m, where each is as improbable.
    assert [answer.span for answer in WITH_NONE.predict(model, encoded, CPU).answers][3] is None


def test_the_answer_has_the_marks_that_a_tokenizer_leaves_out(tokenizer):
    context = "a محمـــد e\u0301 b"
    encoded = TASK.encode(columns(record(context, "a", "محمـــد")), tokenizer, 10)
    (answer,) = TASK.predict(Known({"م": 9}, {"##د": 9}), encoded, CPU).answers
    assert answer.text(context) == "محمـــد"
    (answer,) = TASK.predict(Known({"é": 9}, {"é": 9}), encoded, CPU).answers
    assert answer.text(context) == "e\u0301"


def test_the_loss_of_predictions_is_the_mean_without_dropout(tokenizer, monkeypatch):
    monkeypatch.setattr(module, "BATCH_TOKENS", 20)
    model, encoded = new_model(0.4), TASK.encode(QUESTIONS, tokenizer, 10)
    model.train()
    predictions = TASK.predict(model, encoded, CPU)
    assert model.training
    model.eval()
    expected = TASK.loss(model, TASK.batch(encoded, np.arange(8)), CPU).item() / 16
    assert TASK.scores(encoded, predictions)["loss"] == pytest.approx(expected, abs=1e-5)


def predictions(*spans, probability=0.5):
    return Predictions([Answer(span, probability, 0.25) for span in spans], loss=6.0, targets=4)


def test_scores_by_hand(tokenizer):
    encoded = TASK.encode(QUESTIONS, tokenizer, 10)
    # Gold: h i; x or z; d e f g h i; none; s t. Said: h i; z; f g h; k; none.
    found = predictions((10, 13), (4, 5), (6, 11), (0, 1), None)
    assert TASK.scores(encoded, found) == {"loss": 1.5, "f1": pytest.approx((1 + 1 + 6 / 9) / 5), "exact_match": 2 / 5}
    details = WITH_NONE.details(QUESTIONS, encoded, found)
    table = details.tables["windows.csv"]
    assert table.columns == ("windows", "answer_in", "questions", "f1", "exact_match")
    assert [tuple(row[name] for name in table.columns) for row in table.rows] == [
        (1, "1", 1, 1.0, 1.0),
        (1, "none", 1, 0.0, 0.0),
        (2, "1", 1, 0.0, 0.0),
        (2, "2", 1, 1.0, 1.0),
        (2, "no window", 1, pytest.approx(6 / 9), 0.0),
    ]
    assert [tuple(row.values()) for row in details.tables["lengths.csv"].rows] == [
        ("up to 250", 5, pytest.approx(8 / 15), 0.4)
    ]
    assert details.warnings == ["1 of 5 answers are whole in no window of the context, and count as missed"]
    assert details.intervals.keys() == {"f1", "exact_match"}
    assert all(
        0 <= low <= score <= high <= 1
        for (low, high), score in zip(details.intervals.values(), (8 / 15, 0.4), strict=True)
    )
    cases = details.cases
    assert [case.gold for case in cases] == ["10:13", "0:1 4:5", "2:13", "none", "6:9"]
    assert [case.predicted for case in cases] == ["10:13", "4:5", "6:11", "0:1", "none"]
    assert [case.error for case in cases] == [0, 0, pytest.approx(1 / 3 + 0.5), 1.5, 1.5]
    assert cases[1].text == "a — answer: x / z; predicted: z — x y z"
    assert cases[3].text == "a — answer: none; predicted: k — k l m"
    assert cases[4].text == "a b — answer: s t; predicted: none — p q r s t u v w"
    assert all(case.probability == 0.5 for case in cases)


def test_a_page_shows_the_part_of_a_long_context_that_answers(tokenizer):
    context = f"{'b ' * 200}answer{' c' * 200}"
    given = columns(record(context, "a", "answer"))
    encoded = TASK.encode(given, tokenizer, 10)
    (case,) = TASK.details(given, encoded, predictions((0, 1))).cases
    shown = case.text.split(" — ")[-1]
    assert shown == f"…{'b ' * 60}answer{' c' * 60}…"


def test_contexts_are_scored_by_their_length_and_drawn(tokenizer, tmp_path):
    lengths = [3, 250, 251, 500, 1001, 2000, 2001, 9000]
    given = columns(*(record("b" * length, "a", "b") for length in lengths))
    encoded = TASK.encode(given, tokenizer, 10)
    details = TASK.details(given, encoded, predictions(*[(0, 1)] * 4, *[(1, 3)] * 4))
    table = details.tables["lengths.csv"]
    assert [(row["characters"], row["questions"], row["f1"]) for row in table.rows] == [
        ("up to 250", 2, 1), ("up to 500", 2, 1), ("up to 2,000", 2, 0), ("more than 2,000", 2, 0),
    ]  # fmt: skip
    (figure,) = details.figures
    write_csv(tmp_path / figure.table, table.rows, table.columns)
    SHAPES[figure.shape](figure.title, figure, read_csv(tmp_path / figure.table))


def test_where_no_answer_is_ever_said_it_is_told(tokenizer):
    encoded = TASK.encode(columns(record("x y", "a", "x")), tokenizer, 10)
    details = WITH_NONE.details(columns(record("x y", "a", "x")), encoded, predictions(None))
    assert details.warnings == ["no answer was predicted to any question"]


def test_gold_that_a_tokenizer_cannot_give_stays_in_the_score(tokenizer):
    """An answer within a token, and one of a character without a token, are asked for all the same."""
    given = columns(record("😀😀b c", "a", "😀"), record("a \u200b b", "a", "\u200b"))
    encoded = TASK.encode(given, tokenizer, 10)
    assert encoded.answers == [["😀"], ["\u200b"]]
    assert encoded.targets.tolist() == [[1, 1], [0, 0]]
    scores = TASK.scores(encoded, TASK.predict(Known({"a": 9}, {"a": 9}), encoded, CPU))
    assert (scores["f1"], scores["exact_match"]) == (0, 0)


def test_the_language_is_that_of_the_task(tokenizer):
    given = columns(record("a محمد", "a", ("محمد", 2)))
    given["answers"] = [["مُحَمَّد"]]
    for language, expected in (("en", 0), ("ar", 1)):
        task = Spans(READING, language)
        encoded = task.encode(given, tokenizer, 10)
        assert task.scores(encoded, predictions((2, 6)))["exact_match"] == expected


def test_the_baseline_says_the_first_sentence():
    test = columns(
        record("Ann saw Lee. He ran.", "who?", "Ann"), record("He ran.", "what?", "He ran"), record("No.", "?")
    )
    (rule,) = TASK.baselines(Dataset({}, {"train": columns(), "validation": columns(), "test": test}), UNUSED)
    assert rule.key == "first_sentence"
    # Ann of ann saw lee: 1/2; he ran: 1; an answer where there is none: 0.
    assert rule.scores == {"f1": pytest.approx((1 / 2 + 1 + 0) / 3), "exact_match": pytest.approx(1 / 3)}


@pytest.mark.parametrize("no_answer", [0, 3])
def test_the_task_is_that_of_the_recipe_and_the_manifest(no_answer):
    manifest = {"language": "ar", "splits": {"train": {"no_answer": no_answer}, "test": {"no_answer": 9}}}
    task = make_task(params().task("qa").finetune, manifest)
    assert task.language == "ar"
    assert list(task.metrics) == ["f1", "exact_match"]
    assert task.criterion == "f1"
    expected = {
        "max_seq_length": 12, "max_question_tokens": 4, "stride": 3, "max_answer_tokens": 5, "no_answer": no_answer > 0,
    }  # fmt: skip
    assert json.loads(json.dumps(task.config())) == {"maskline": {"kind": "spans", **expected}}
    assert task.summary.endswith("or says that it has no answer") == (no_answer > 0)
