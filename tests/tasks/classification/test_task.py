from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from torch.nn.functional import cross_entropy

from maskline.core.scores import wilson
from maskline.finetuning.task import Case
from maskline.model.attention import Layout
from maskline.model.bert.convert import POOLER
from maskline.model.directory import HEADS, TokenizerFiles, export, read_model
from maskline.tasks.classification import model as module
from maskline.tasks.classification import scores
from maskline.tasks.classification.task import Classification, LabelledTexts, make_task
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import files_for_model
from maskline.tokenization.texts import EncodedTexts
from tests.tiny import SPECIAL, VOCAB_SIZE, tiny_params, write_tokenizer

CPU = torch.device("cpu")
LABELS = ["negative", "neutral", "positive"]
PARAMS = tiny_params({"model.initializer_range": 0.5}).model


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer")


def classification(weights=(1, 1, 1), labels=LABELS, **options):
    return Classification(labels, np.array(weights, np.float32), **options)


def new_model(task):
    model = task.new_model(PARAMS, VOCAB_SIZE, 0.0)
    model.reset(torch.Generator().manual_seed(3))
    return model


def labelled(labels):
    """Return examples of which the labels alone matter."""
    return LabelledTexts(EncodedTexts([np.zeros(3, np.int64)] * len(labels), 0, 0.0), np.array(labels))


def texts(count):
    return {"text": [f"text {number}" for number in range(count)]}


def certain(classes, count=3):
    """Return probabilities that decide for `classes`."""
    return np.eye(count, dtype=np.float32)[classes]


def test_what_is_cut_and_what_is_unknown_is_counted(tokenizer):
    columns = {"text": ["w5 @ w6", "w7", "w8 w9 w10 @ @"], "label": [2, 0, 1]}
    encoded = classification().encode(columns, load_tokenizer(tokenizer), 5)
    cls, sep, unk = SPECIAL.cls, SPECIAL.sep, SPECIAL.unk
    assert [ids.tolist() for ids in encoded.texts.input_ids] == [
        [cls, 5, unk, 6, sep], [cls, 7, sep], [cls, 8, 9, 10, sep],
    ]  # fmt: skip
    assert encoded.labels.tolist() == [2, 0, 1]
    assert encoded.sizes.tolist() == [5, 3, 5]
    assert encoded.cut == 1
    assert encoded.unk_rate == 1 / 7  # of what is read
    nothing = classification().encode({"text": [], "label": []}, load_tokenizer(tokenizer), 5)
    assert nothing.unk_rate == 0
    assert nothing.labels.dtype == np.int64


def test_a_batch_has_the_texts_of_its_rows_one_after_the_other(tokenizer):
    columns = {"text": ["w5 w6", "w7", "w8 w9 w10"], "label": [2, 0, 1]}
    task = classification((0.5, 1, 3))
    encoded = task.encode(columns, load_tokenizer(tokenizer), 9)
    batch = task.batch(encoded, np.array([2, 0]))
    assert batch.texts.input_ids.tolist() == [2, 8, 9, 10, 3, 2, 5, 6, 3]
    assert batch.texts.lengths.tolist() == [5, 4]
    assert batch.labels.tolist() == [1, 2]
    assert task.targets(batch) == {"loss": 4.0, "tokens": 9}


def test_a_batch_of_pairs_tells_the_texts_apart(tokenizer):
    columns = {"text": ["w5 w6", "w7"], "second": ["w8", "w9 w10 w11 w12"], "label": [2, 0]}
    task = classification(pair=True)
    encoded = task.encode(columns, load_tokenizer(tokenizer), 7)
    batch = task.batch(encoded, np.array([1, 0]))
    assert batch.texts.input_ids.tolist() == [2, 7, 3, 9, 10, 11, 3, 2, 5, 6, 3, 8, 3]
    assert batch.texts.token_type_ids.tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1]
    assert (encoded.cut, encoded.sizes.tolist()) == (1, [6, 7])
    swapped = task.encode(
        columns | {"text": columns["second"], "second": columns["text"]}, load_tokenizer(tokenizer), 7
    )
    model = new_model(task)
    assert np.abs(task.predict(model, encoded, CPU) - task.predict(model, swapped, CPU)).max() > 1e-3
    details = task.details(columns, encoded, certain([2, 0]))
    assert [case.text for case in details.cases] == ["w5 w6 | w8", "w7 | w9 w10 w11 w12"]


def test_the_examples_are_what_the_manifest_says(tokenizer):
    single = {"text": ["w5"], "label": [0]}
    for pair, columns in ((True, single), (False, single | {"second": ["w6"]})):
        with pytest.raises(AssertionError, match="of one stage"):
            classification(pair=pair).encode(columns, load_tokenizer(tokenizer), 9)


def test_the_config_tells_what_using_the_model_needs():
    plain = make_task(recipe(), manifest({"a": 2, "b": 1}))
    assert plain.config()["maskline"] == {"kind": "classification", "pair": False, "pooling": "cls"}
    assert plain.summary == "Classifies texts as a, b"
    pairs = make_task(recipe(pooling="mean"), manifest({"a": 2, "b": 1}) | {"pair": True})
    assert pairs.config()["maskline"] == {"kind": "classification", "pair": True, "pooling": "mean"}
    assert pairs.summary == "Classifies pairs of texts as a, b"


def test_the_class_of_transformers_is_that_which_pools_alike():
    assert new_model(classification()).exported_as == "BertForSequenceClassification"
    assert new_model(classification(pooling="mean")).exported_as == "BertModel"


def recipe(**changes):
    return SimpleNamespace(**{"class_weights": "none", "pooling": "cls", "max_seq_length": 24} | changes)


def manifest(counts):
    return {"labels": list(counts), "pair": False, "splits": {"train": {"labels": counts}}}


def test_balanced_weights_by_hand():
    counts = {"a": 6, "b": 3, "c": 1}
    balanced = make_task(recipe(class_weights="balanced"), manifest(counts))
    assert balanced.weights.tolist() == pytest.approx([10 / 18, 10 / 9, 10 / 3])
    assert balanced.weights.dtype == torch.float32
    assert sum(balanced.weights * torch.tensor([6, 3, 1])) == pytest.approx(10)  # 1 in the mean over the examples
    plain = make_task(recipe(), manifest(counts))
    assert plain.weights.tolist() == [1, 1, 1]
    assert plain.labels == balanced.labels == ["a", "b", "c"]


def test_macro_f1_tells_a_constant_classifier():
    metrics = classification((1, 1), LABELS[:2]).scores(labelled([0] * 95 + [1] * 5), certain([0] * 100, 2))
    assert metrics["accuracy"] == 0.95
    assert metrics["macro_f1"] == pytest.approx((2 * 0.95 / 1.95 + 0) / 2)  # 0.487


def test_a_class_that_is_nowhere_counts_as_missed():
    labels = [0, 1, 1]
    two, three = classification((1, 1), LABELS[:2]), classification()
    assert two.scores(labelled(labels), certain(labels, 2))["macro_f1"] == 1.0
    assert three.scores(labelled(labels), certain(labels))["macro_f1"] == pytest.approx(2 / 3)


def test_scores_by_hand():
    probabilities = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.75, 0.125], [0, 0, 1]], np.float32)
    metrics = classification().scores(labelled([0, 1, 2, 2]), probabilities)
    assert metrics["loss"] == pytest.approx(np.log([2, 2, 8, 1]).mean())
    assert metrics["accuracy"] == 0.75
    assert metrics["macro_f1"] == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)


def test_the_loss_of_what_was_held_impossible_is_finite():
    assert 80 < classification().scores(labelled([0]), certain([1]))["loss"] < 100


def test_details_by_hand():
    details = classification().details(texts(5), labelled([0, 0, 0, 2, 2]), certain([0, 0, 2, 2, 2]))
    confusion = details.tables["confusion.csv"]
    assert confusion.columns == ("label", "predicted", "count")
    assert [(row["label"], row["predicted"]) for row in confusion.rows] == [(a, b) for a in LABELS for b in LABELS]
    assert [row["count"] for row in confusion.rows] == [2, 0, 1, 0, 0, 0, 0, 0, 2]
    third, fifth = pytest.approx(2 / 3), pytest.approx(4 / 5)
    classes = details.tables["classes.csv"]
    assert classes.columns == ("label", "precision", "recall", "f1", "support")
    assert classes.rows == [
        {"label": "negative", "precision": 1.0, "recall": third, "f1": fifth, "support": 3},
        {"label": "neutral", "precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0},
        {"label": "positive", "precision": third, "recall": 1.0, "f1": fifth, "support": 2},
    ]
    assert details.warnings == []
    (figure,) = details.figures
    assert (figure.table, figure.x, figure.y, figure.value) == ("confusion.csv", "predicted", "label", "count")
    assert details.cases[0] == Case("negative", "negative", 1.0, 0.0, "text 0")
    assert details.cases[2] == Case("negative", "positive", 1.0, 1.0, "text 2")


def test_a_model_that_names_one_class_is_called_out():
    details = classification().details(texts(3), labelled([0, 1, 1]), certain([1, 1, 1]))
    assert details.warnings == ["every test text is predicted as neutral: the accuracy is that of naming one class"]


def test_probabilities_come_in_the_order_of_the_texts_whatever_the_batch(tokenizer, monkeypatch):
    task, loaded = classification(), load_tokenizer(tokenizer)
    model = new_model(task)
    texts = [f"w5 {'w6 w7 ' * (number % 4)}w{number + 9}" for number in range(11)]
    encoded = task.encode({"text": texts, "label": [0] * 11}, loaded, 16)
    alone = np.concatenate(
        [task.predict(model, task.encode({"text": [text], "label": [0]}, loaded, 16), CPU) for text in texts]
    )
    for size in (30, 640):
        monkeypatch.setattr(scores, "BATCH_TOKENS", size)
        assert task.predict(model, encoded, CPU) == pytest.approx(alone, abs=1e-6)
    assert np.ptp(alone[:, 0]) > 1e-4
    assert alone.sum(1) == pytest.approx(np.ones(len(texts)))


def test_predictions_are_without_dropout_and_training_goes_on(tokenizer):
    task = classification()
    model = task.new_model(PARAMS.model_copy(update={"dropout": 0.4}), VOCAB_SIZE, 0.4)
    model.train()
    encoded = task.encode({"text": ["w5 w6 w7"], "label": [1]}, load_tokenizer(tokenizer), 16)
    first, again = (task.predict(model, encoded, CPU) for _ in range(2))
    assert np.array_equal(first, again)
    assert model.training


def test_the_loss_is_the_weighted_sum_over_the_batch(tokenizer):
    task = classification((0.3, 1.0, 2.5))
    model = new_model(task)
    encoded = task.encode({"text": ["w5 w6", "w7", "w8 w9 w10"], "label": [2, 0, 1]}, load_tokenizer(tokenizer), 9)
    rows = np.array([2, 0, 1])
    expected = 0.0
    for row in rows:
        ids = torch.from_numpy(encoded.texts.input_ids[row])
        logits = model(ids, torch.zeros_like(ids), Layout.of(torch.tensor([len(ids)])))
        label = int(encoded.labels[row])
        expected += task.weights[label].item() * cross_entropy(logits, torch.tensor([label])).item()
    assert task.loss(model, task.batch(encoded, rows), CPU).item() == pytest.approx(expected, abs=1e-5)


def test_the_exported_model_is_that_of_transformers(tokenizer, tmp_path):
    task = classification()
    model = new_model(task)
    files = TokenizerFiles(*files_for_model(tokenizer, PARAMS.max_positions))
    export(tmp_path / "model", model, model.exported_as, files, "", {}, task.config())
    theirs, info = transformers.BertForSequenceClassification.from_pretrained(
        tmp_path / "model", output_loading_info=True
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert theirs.config.id2label == dict(enumerate(LABELS))
    assert theirs.config.label2id == {label: number for number, label in enumerate(LABELS)}
    assert theirs.config.problem_type == "single_label_classification"
    texts = ["w5 w6", "w7 w8 w9 w10 w11"]
    batch = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = theirs.eval()(**batch).logits
    encoded = task.encode({"text": texts, "label": [0, 0]}, load_tokenizer(tokenizer), 32)
    mine = module.logits(model.eval(), encoded.texts.packed(np.arange(2)), CPU)
    torch.testing.assert_close(logits, mine, atol=1e-5, rtol=0)
    again = task.new_model(PARAMS, VOCAB_SIZE, 0.0)
    read_model(tmp_path / "model", "finetune").copy_into(again)
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), model.parameters(), strict=True))


def test_a_pair_has_the_logits_of_transformers(tokenizer, tmp_path):
    task = classification(pair=True)
    model = new_model(task).eval()
    files = TokenizerFiles(*files_for_model(tokenizer, PARAMS.max_positions, fills_masks=False))
    export(tmp_path / "model", model, model.exported_as, files, "", {}, task.config())
    theirs = transformers.BertForSequenceClassification.from_pretrained(tmp_path / "model").eval()
    assert theirs.config.maskline == {"kind": "classification", "pair": True, "pooling": "cls"}
    columns = {"text": ["w5 w6", "w7 " * 40], "second": ["w8 w9 w10", "w11 " * 50], "label": [0, 0]}
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")
    batch = read(columns["text"], columns["second"], padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        logits = theirs(**batch).logits
        encoded = task.encode(columns, load_tokenizer(tokenizer), PARAMS.max_positions)
        mine = module.logits(model, encoded.texts.packed(np.arange(2)), CPU)
    assert encoded.cut == 1
    torch.testing.assert_close(logits, mine, atol=1e-5, rtol=0)


def test_a_mean_is_an_encoder_and_a_classifier_beside_it(tokenizer, tmp_path):
    task = classification(pooling="mean")
    model = new_model(task).eval()
    files = TokenizerFiles(*files_for_model(tokenizer, PARAMS.max_positions, fills_masks=False))
    export(tmp_path / "model", model, model.exported_as, files, "", {}, task.config(), untrained=(POOLER,))
    theirs, info = transformers.BertModel.from_pretrained(
        tmp_path / "model", output_loading_info=True, add_pooling_layer=False
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    head = load_file(tmp_path / "model" / HEADS)
    assert set(head) == {"classifier.weight", "classifier.bias"}
    texts = ["w5 w6", "w7 w8 w9 w10 w11"]
    batch = transformers.AutoTokenizer.from_pretrained(tmp_path / "model")(texts, padding=True, return_tensors="pt")
    encoded = task.encode({"text": texts, "label": [0, 0]}, load_tokenizer(tokenizer), 32)
    with torch.no_grad():
        x, mask = theirs.eval()(**batch).last_hidden_state, batch["attention_mask"][:, :, None]
        mean = (x * mask).sum(1) / mask.sum(1)
        mine = module.logits(model, encoded.texts.packed(np.arange(2)), CPU)
    torch.testing.assert_close(mean @ head["classifier.weight"].T + head["classifier.bias"], mine, atol=1e-5, rtol=0)
    again = task.new_model(PARAMS, VOCAB_SIZE, 0.0)
    read_model(tmp_path / "model", "finetune").copy_into(again, may_lack=(POOLER,))
    with torch.no_grad():
        assert torch.equal(module.logits(again.eval(), encoded.texts.packed(np.arange(2)), CPU), mine)


@pytest.mark.parametrize("copies", [1, 100])
def test_the_bounds_of_a_score_hold_it_and_are_narrow_where_there_are_many_texts(copies):
    gold, predicted = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2] * copies, [0, 0, 1, 1, 1, 2, 2, 2, 0, 2] * copies
    task, encoded = classification(), labelled(gold)
    intervals = task.details(texts(len(gold)), encoded, certain(predicted)).intervals
    scores = task.scores(encoded, certain(predicted))
    assert intervals["accuracy"] == wilson(0.8, 10 * copies)
    low, high = intervals["macro_f1"]
    assert low < scores["macro_f1"] < high
    assert (high - low < 0.1) == (copies == 100)
    assert task.details(texts(len(gold)), encoded, certain(predicted)).intervals == intervals


def test_the_labels_keep_the_order_of_the_manifest():
    """Their numbers are those of the examples: an order of letters would exchange the classes."""
    counts = {"positive": 6, "neutral": 3, "bad": 1}
    task = make_task(recipe(class_weights="balanced"), manifest(counts))
    assert task.labels == ["positive", "neutral", "bad"]
    assert task.weights.tolist() == pytest.approx([10 / 18, 10 / 9, 10 / 3])
    assert task.config()["id2label"] == {"0": "positive", "1": "neutral", "2": "bad"}
    assert task.config()["label2id"] == {"positive": 0, "neutral": 1, "bad": 2}
