import json

import numpy as np
import pytest
import torch
import transformers

from maskline.core.errors import UserError
from maskline.core.storage import read_json, write_json, write_manifest
from maskline.finetuning.use import Predicted
from maskline.model.bert.convert import POOLER
from maskline.model.directory import CONFIG, TokenizerFiles, export, read_model
from maskline.tasks.classification import scores as module
from maskline.tasks.classification.task import Classification
from maskline.tasks.classification.use import PURPOSES, open_predictor
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import files_for_model
from tests.tiny import VOCAB_SIZE, tiny_params, write_tokenizer

CPU = torch.device("cpu")
LABELS = ["no", "yes", "perhaps"]
PARAMS = tiny_params({"model.initializer_range": 0.5}).model
KINDS = [{}, {"pooling": "mean"}, {"pair": True}, {"pair": True, "pooling": "mean"}]
TEXTS = ["w5 w6", "", "w7 " * 70, "w8 [SEP] w9", "@ ", "w20 w21 w22"]


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer")


def write_model(directory, tokenizer, **options):
    """Write a model with random weights; return its task and the model."""
    task = Classification(LABELS, np.ones(3, np.float32), **options)
    model = task.new_model(PARAMS, VOCAB_SIZE, 0.0)
    model.reset(torch.Generator().manual_seed(3))
    files = TokenizerFiles(*files_for_model(tokenizer, PARAMS.max_positions, fills_masks=False))
    untrained = () if model.pooled else (POOLER,)
    export(directory, model, model.exported_as, files, "", {}, task.config(), untrained=untrained)
    return task, model.eval()


def opened(directory, tokenizer):
    return open_predictor(read_model(directory, "finetune"), load_tokenizer(tokenizer), CPU)


def inputs(fields):
    """Return the odd texts of TEXTS, each with the next one for a second."""
    return [dict(zip(fields, pair, strict=False)) for pair in zip(TEXTS, [*TEXTS[1:], TEXTS[0]], strict=True)]


@pytest.mark.parametrize("options", KINDS)
def test_what_was_exported_says_what_the_model_said(tokenizer, tmp_path, options):
    task, model = write_model(tmp_path / "model", tokenizer, **options)
    predictor = opened(tmp_path / "model", tokenizer)
    pair = options.get("pair", False)
    assert tuple(predictor.fields) == (("text", "second") if pair else ("text",))
    rows = inputs(predictor.fields)
    predicted = predictor.predict(rows)
    columns = {field: [row[field] for row in rows] for field in predictor.fields} | {"label": [0] * len(rows)}
    encoded = task.encode(columns, load_tokenizer(tokenizer), PARAMS.max_positions)
    expected = task.predict(model, encoded, CPU)
    assert predicted.cut == encoded.cut == (2 if pair else 1)
    assert len(predicted.rows) == len(TEXTS)
    for row, chances in zip(predicted.rows, expected, strict=True):
        assert list(row) == ["label", "probability", "probabilities"]
        assert list(row["probabilities"]) == LABELS
        assert list(row["probabilities"].values()) == pytest.approx(chances.tolist(), abs=1e-6)
        assert row["label"] == LABELS[chances.argmax()]
        assert row["probability"] == max(row["probabilities"].values())
        json.dumps(row, allow_nan=False)


@pytest.mark.parametrize("options", KINDS)
def test_a_text_alone_or_among_any_others_is_the_same(tokenizer, tmp_path, monkeypatch, options):
    write_model(tmp_path / "model", tokenizer, **options)
    predictor = opened(tmp_path / "model", tokenizer)
    rows = inputs(predictor.fields)

    def chances(some):
        return [list(row["probabilities"].values()) for row in predictor.predict(some).rows]

    alone = np.array([chances([row])[0] for row in rows])
    assert np.ptp(alone[:, 0]) > 1e-3
    for size in (40, 4096):
        monkeypatch.setattr(module, "BATCH_TOKENS", size)
        assert np.array(chances(rows)) == pytest.approx(alone, abs=1e-5)
        assert np.array(chances(rows[::-1])) == pytest.approx(alone[::-1], abs=1e-5)


def test_no_inputs_give_nothing(tokenizer, tmp_path):
    write_model(tmp_path / "model", tokenizer, pair=True)
    assert opened(tmp_path / "model", tokenizer).predict([]) == Predicted([])


def test_half_a_pair_is_told(tokenizer, tmp_path):
    write_model(tmp_path / "model", tokenizer, pair=True)
    with pytest.raises(UserError, match=r"^input 2 has no second: the model reads text and second$"):
        opened(tmp_path / "model", tokenizer).predict([{"text": "w5", "second": "w6"}, {"text": "w5"}])


def foreign(directory, **config):
    """Write a model of `transformers`, which knows nothing of ours; return it."""
    shapes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    torch.manual_seed(1)
    model = transformers.BertForSequenceClassification(
        transformers.BertConfig(
            vocab_size=VOCAB_SIZE, max_position_embeddings=32, initializer_range=0.5, **shapes, **config
        )
    )
    model.save_pretrained(directory)
    write_manifest(directory, {})
    return model.eval()


@pytest.mark.parametrize(
    ("config", "labels"),
    [
        ({}, ["LABEL_0", "LABEL_1"]),
        ({"id2label": {0: "bad", 1: "fine", 2: "good"}}, ["bad", "fine", "good"]),
        ({"num_labels": 3, "problem_type": "single_label_classification"}, ["LABEL_0", "LABEL_1", "LABEL_2"]),
    ],
)
def test_a_classifier_of_others_reads_single_texts(tokenizer, tmp_path, config, labels):
    theirs = foreign(tmp_path / "model", **config)
    assert theirs.config.architectures == [f"Bert{purpose}" for purpose in PURPOSES]
    predictor = opened(tmp_path / "model", tokenizer)
    assert tuple(predictor.fields) == ("text",)
    (row,) = predictor.predict([{"text": "w9 w10 w11"}]).rows
    with torch.no_grad():
        logits = theirs(torch.tensor([[2, 9, 10, 11, 3]])).logits[0]
    assert row["probabilities"] == pytest.approx(dict(zip(labels, logits.softmax(0).tolist(), strict=True)), abs=1e-5)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"problem_type": "multi_label_classification"}, "problem_type multi_label_classification, 2 outputs.: give"),
        ({"num_labels": 1}, "tells no classes apart of which each text has one .problem_type None, 1 outputs.: give a"),
    ],
)
def test_what_tells_no_classes_apart_is_refused(tokenizer, tmp_path, config, message):
    foreign(tmp_path / "model", **config)
    with pytest.raises(UserError, match=message) as error:
        opened(tmp_path / "model", tokenizer)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("names", [{"0": "bad"}, {"0": "bad", "1": "bad"}, {"1": "bad", "2": "good"}])
def test_names_that_are_not_those_of_the_classes_are_refused(tokenizer, tmp_path, names):
    foreign(tmp_path / "model")
    config = read_json(tmp_path / "model" / CONFIG)
    write_json(tmp_path / "model" / CONFIG, config | {"id2label": names})
    write_manifest(tmp_path / "model", {})
    with pytest.raises(UserError, match=r"model: id2label does not name the 2 classes of the weights: correct it$"):
        opened(tmp_path / "model", tokenizer)


def test_a_model_without_a_classifier_is_refused(tokenizer, tmp_path):
    foreign(tmp_path / "model")
    saved = read_model(tmp_path / "model", "finetune")
    del saved.weights["classifier.weight"]
    with pytest.raises(UserError, match=r"model lacks classifier.weight: give the directory of a classifier$"):
        open_predictor(saved, load_tokenizer(tokenizer), CPU)
