import pytest
import torch

from maskline.core.errors import UserError
from maskline.finetuning.scorer import TorchScorer
from maskline.model.convert import to_hugging_face
from maskline.model.directory import SavedModel
from maskline.tasks.tokens import tagging
from maskline.tasks.tokens.model import log_probabilities
from maskline.tasks.tokens.use import Tagger, open_predictor
from maskline.tokenization.load import load_tokenizer
from tests.tasks.tokens.tagged import ANN, LABELS, NEW, PIECES, YORK, write_pieces
from tests.tasks.tokens.test_task import B_LOC, B_PER, I_LOC, PARAMS, TASK, Known, new_model

CPU = torch.device("cpu")
TEXTS = [
    "Ann. the new York playing; the Paris.",
    "",
    "the",
    "Ann Ann Ann " * 30,
    "new york",
    " \n\t",
    "York, (Ann) [SEP]",
]


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return load_tokenizer(write_pieces(tmp_path_factory.mktemp("tokenizer") / "tokenizer"))


def known(tokenizer, max_positions=32):
    """Return a tagger that knows Ann, New and York, wherever they stand."""
    model = Known({ANN: B_PER, NEW: B_LOC, YORK: I_LOC}, sure=3.0)
    return Tagger(TorchScorer(model, CPU, log_probabilities), LABELS, tokenizer, max_positions)


def saved(**changes):
    """Return a model with random weights, as a model directory holds it."""
    config = {"id2label": {str(number): label for number, label in enumerate(LABELS)}}
    weights = {name: weight for name, weight in to_hugging_face(new_model()).items() if "pooler" not in name}
    return SavedModel("model", PARAMS, len(PIECES), weights, config | changes)


def found(tagger, *texts):
    rows = tagger.predict([{"text": text} for text in texts]).rows
    return [[(one["text"], one["start"], one["end"], one["type"]) for one in row["entities"]] for row in rows]


def probable(tagger, *texts):
    """Return for each text its entities with their probabilities."""
    rows = tagger.predict([{"text": text} for text in texts]).rows
    return [{(e["start"], e["end"], e["type"]): e["probability"] for e in row["entities"]} for row in rows]


def test_entities_stand_at_their_characters(tokenizer):
    assert found(known(tokenizer), "  Ann, the\tNew  York.", "(New York)Ann") == [
        [("Ann", 2, 5, "PER"), ("New  York", 11, 20, "LOC")],
        [("New York", 1, 9, "LOC"), ("Ann", 10, 13, "PER")],
    ]


@pytest.mark.parametrize("text", ["", " \n", "\u200f", "the", "York"])
def test_where_nothing_is_found_the_list_is_empty(tokenizer, text):
    assert known(tokenizer).predict([{"text": text}]).rows == [{"entities": []}]


def test_without_inputs_there_are_no_rows(tokenizer):
    predicted = known(tokenizer).predict([])
    assert (predicted.rows, predicted.cut, predicted.windowed) == ([], 0, 0)


def test_offsets_are_those_of_the_text_as_it_was_given(tokenizer):
    texts = {
        "\u202bAnn\u202c هو\u064e Ann": ["Ann", "Ann"],
        "e\u0301 A\u00adnn e\u0301 Ann": ["A\u00adnn", "Ann"],
        "😀Ann 👩\u200d🚀 New\u00a0York": ["Ann", "New\u00a0York"],
        "\ud800 Ann": ["Ann"],
    }
    for text, names in texts.items():
        (entities,) = found(known(tokenizer), text)
        assert [name for name, *_ in entities] == names
        assert all(text[start:end] == name for name, start, end, _ in entities)


def test_a_special_token_that_is_spelled_out_is_text(tokenizer):
    text = "[CLS] Ann [SEP] Ann [MASK] [PAD]"
    assert [start for _, start, *_ in found(known(tokenizer), text)[0]] == [6, 16]


def test_an_entity_is_as_probable_as_its_least_probable_tag(tokenizer):
    tagger = known(tokenizer)
    with torch.no_grad():
        tagger.score.model.logits[YORK, I_LOC] = 2.0
    (row,) = tagger.predict([{"text": "New York"}]).rows
    sure = torch.softmax(torch.tensor([0.0, 0, 2, 0, 0]), 0).max().item()
    assert [(one["type"], one["probability"]) for one in row["entities"]] == [("LOC", pytest.approx(sure, abs=1e-6))]
    assert isinstance(row["entities"][0]["probability"], float)


def test_a_long_text_is_read_in_windows_and_nothing_is_lost(tokenizer):
    text = "the Ann the New York . " * 40
    tagger = known(tokenizer, 8)
    predicted = tagger.predict([{"text": "Ann"}, {"text": text}])
    assert [one["text"] for one in predicted.rows[1]["entities"]] == ["Ann", "New York"] * 40
    assert (predicted.cut, predicted.windowed) == (0, 1)
    assert found(tagger, text) == found(known(tokenizer, 1000), text)


def test_a_word_longer_than_the_model_reads_is_counted(tokenizer):
    predicted = known(tokenizer, 5).predict([{"text": "ann-ann-ann Ann"}, {"text": "Ann Ann Ann Ann"}])
    assert (predicted.cut, predicted.windowed) == (1, 2)


def test_a_text_is_the_same_alone_and_in_any_batch(tokenizer, monkeypatch):
    tagger = open_predictor(saved(), tokenizer, CPU)
    with torch.no_grad():  # as random weights say the same of every word
        tagger.score.model.classifier.bias -= torch.tensor([0.8, 0, 0.2, 0, 0.2])
    alone = [entities for text in TEXTS for entities in probable(tagger, text)]
    for size in (1, 64, 4096):
        monkeypatch.setattr(tagging, "BATCH_TOKENS", size)
        together = probable(tagger, *reversed(TEXTS))[::-1]
        assert [[*row] for row in together] == [[*row] for row in alone]
        for row, other in zip(together, alone, strict=True):
            assert row == pytest.approx(other, abs=1e-5)
    assert sum(map(len, alone)) > 5


def test_the_class_of_transformers_is_that_of_the_task():
    assert TASK.new_model(PARAMS, len(PIECES), 0.0).exported_as == "BertForTokenClassification"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["O", "B-LOC", "I-LOC", "LOC", "I-PER"], "model has the label 'LOC', which is none of O, B-X and I-X: give a"),
        (["O", "B-LOC", "I-LOC", "B-PER", "I-X"], "model has the label 'I-X', which is none of"),
        (["B-A", "B-LOC", "I-LOC", "B-PER", "I-PER"], "model has no label O among"),
    ],
)
def test_labels_of_another_kind_are_refused(tokenizer, labels, message):
    id2label = {str(number): label for number, label in enumerate(labels)}
    with pytest.raises(UserError, match=f"^{message}"):
        open_predictor(saved(id2label=id2label), tokenizer, CPU)


def test_weights_of_another_kind_are_refused(tokenizer):
    model = saved()
    weights = {name: weight for name, weight in model.weights.items() if "classifier" not in name}
    with pytest.raises(UserError, match=r"model lacks classifier"):
        open_predictor(SavedModel("model", PARAMS, len(PIECES), weights, model.config), tokenizer, CPU)


def test_the_order_of_the_labels_is_that_of_the_model(tokenizer):
    turned = [*LABELS[1:], "O"]  # O need not be the first
    tagger = known(tokenizer)
    assert found(Tagger(tagger.score, turned, tokenizer, 32), "York \u0640 York") == [
        [("York", 0, 4, "PER"), ("York", 7, 11, "PER")]  # I-LOC was third; a tatweel has no piece and is O
    ]
