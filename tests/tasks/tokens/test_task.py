from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from maskline.dataset.read import Dataset
from maskline.model.attention import Layout
from maskline.tasks.tokens import tagging
from maskline.tasks.tokens.task import Predictions, Tokens, make_task, most_frequent_tags
from maskline.tokenization.load import load_tokenizer
from tests.tasks.tokens.tagged import (
    ANN,
    DOT,
    ED,
    IAN,
    ING,
    LABELS,
    NEW,
    PARIS,
    PIECES,
    PLAY,
    THE,
    YORK,
    params,
    write_pieces,
)
from tests.tiny import SPECIAL

CPU = torch.device("cpu")
O, B_LOC, I_LOC, B_PER, I_PER = range(5)  # noqa: E741
CLS, SEP = SPECIAL.cls, SPECIAL.sep
PARAMS = params({"model.initializer_range": 0.2}).model
TASK = Tokens(LABELS)
UNUSED = None
"""The baseline needs no encoder."""


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return load_tokenizer(write_pieces(tmp_path_factory.mktemp("tokenizer") / "tokenizer"))


def columns(*sentences):
    """Return sentences, pairs of words and numbers of tags, as columns."""
    return {"words": [words for words, _ in sentences], "tags": [tags for _, tags in sentences]}


def lists(arrays):
    return [array.tolist() for array in arrays]


SENTENCES = columns(
    (["Ann", "played", "."], [B_PER, O, O]),
    (["the", "Parisian", "playing", "New", "York"], [O, B_PER, O, B_LOC, I_LOC]),
    (["York"], [B_LOC]),
    (["Paris", "Paris"], [B_LOC, B_LOC]),
)


def test_the_first_piece_of_a_word_has_its_tag(tokenizer):
    encoded = TASK.encode(SENTENCES, tokenizer, 16)
    assert lists(encoded.windows.input_ids) == [
        [CLS, ANN, PLAY, ED, DOT, SEP],
        [CLS, THE, PARIS, IAN, PLAY, ING, NEW, YORK, SEP],
        [CLS, YORK, SEP],
        [CLS, PARIS, PARIS, SEP],
    ]
    assert lists(encoded.windows.places) == [[1, 2, 4], [1, 2, 4, 6, 7], [1], [1, 2]]
    assert lists(encoded.by_sentence(encoded.tags)) == SENTENCES["tags"]
    assert encoded.sizes.tolist() == [6, 9, 3, 4]
    assert (encoded.cut, encoded.unk_rate) == (0, 0)


def test_a_word_of_many_parts_is_one(tokenizer):
    encoded = TASK.encode(columns((["the.the", "New York", "Ann"], [B_LOC, B_PER, O])), tokenizer, 16)
    assert lists(encoded.windows.input_ids) == [[CLS, THE, DOT, THE, NEW, YORK, ANN, SEP]]
    assert lists(encoded.windows.places) == [[1, 4, 6]]
    assert TASK.batch(encoded, np.array([0])).tags.tolist() == [B_LOC, B_PER, O]


@pytest.mark.parametrize("nothing", ["", "\u200b", " "])
def test_a_word_without_a_piece_does_not_shift_the_tags(tokenizer, nothing):
    words = [nothing, "Ann", nothing, nothing, "playing", "York", nothing]
    tags = [O, B_PER, I_PER, O, O, B_LOC, I_LOC]
    encoded = TASK.encode(columns((words, tags), ([nothing], [B_LOC])), tokenizer, 16)
    batch = TASK.batch(encoded, np.array([1, 0]))
    assert batch.tags.tolist() == [B_PER, O, B_LOC]
    assert batch.words.positions.tolist() == [3, 4, 6]
    assert lists(encoded.by_sentence(encoded.tags)) == [tags, [B_LOC]]


@pytest.mark.parametrize("length", range(3, 12))
def test_however_long_the_sentence_every_word_is_learned_once(tokenizer, length):
    encoded = TASK.encode(SENTENCES, tokenizer, length)
    rows = np.arange(len(encoded.sizes))
    assert max(encoded.sizes) <= length
    batch = TASK.batch(encoded, rows)
    assert sorted(batch.words.words.tolist()) == [*range(11)]
    assert batch.tags.tolist() == encoded.tags[batch.words.words].tolist()
    assert encoded.cut == {3: 2}.get(length, 0)  # where one piece fits, words of two are read half


def test_a_batch_has_the_sentences_of_its_rows_one_after_the_other(tokenizer):
    encoded, rows = TASK.encode(SENTENCES, tokenizer, 16), np.array([2, 0, 3])
    batch = TASK.batch(encoded, rows)
    assert encoded.texts.packed(rows).input_ids.tolist() == batch.words.input_ids.tolist()
    assert batch.words.input_ids.tolist() == [CLS, YORK, SEP, CLS, ANN, PLAY, ED, DOT, SEP, CLS, PARIS, PARIS, SEP]
    assert batch.words.lengths.tolist() == [3, 6, 4]
    assert batch.words.positions.tolist() == [1, 4, 5, 7, 10, 11]
    assert batch.tags.tolist() == [B_LOC, B_PER, O, O, B_LOC, B_LOC]
    assert TASK.targets(batch) == {"loss": 6, "tokens": 13}


def new_model(dropout=0.0):
    model = TASK.new_model(PARAMS.model_copy(update={"dropout": dropout}), len(PIECES), dropout)
    model.reset(torch.Generator().manual_seed(5))
    return model


def test_the_dropout_before_the_head_is_the_one_asked_for():
    assert TASK.new_model(PARAMS, len(PIECES), 0.3).dropout.p == 0.3


def logits_of(model, ids):
    tokens = torch.from_numpy(ids)
    return model(tokens, Layout.of(torch.tensor([len(ids)])), torch.arange(len(ids)))


def losses(model, encoded, rows):
    """Return the loss of each word that is read, sequence by sequence."""
    found, windows = [], encoded.windows
    with torch.no_grad():
        for row in rows:
            logits = logits_of(model, windows.input_ids[row])
            for place, word in zip(windows.places[row], windows.words[row], strict=True):
                found.append(cross_entropy(logits[place], torch.tensor(int(encoded.tags[word]))).item())
    return found


def test_the_loss_is_the_sum_over_the_first_pieces(tokenizer):
    model, encoded = new_model(), TASK.encode(SENTENCES, tokenizer, 16)
    rows = np.array([1, 3, 0])
    expected = losses(model, encoded, rows)
    assert len(expected) == 5 + 2 + 3
    assert TASK.loss(model, TASK.batch(encoded, rows), CPU).item() == pytest.approx(sum(expected), abs=1e-4)


def test_words_outside_of_entities_are_learned_too(tokenizer):
    model = new_model()
    batch = TASK.batch(TASK.encode(columns((["the", "playing"], [O, O])), tokenizer, 16), np.array([0]))
    assert TASK.targets(batch)["loss"] == 2
    loss = TASK.loss(model, batch, CPU)
    assert loss > 0.1
    loss.backward()
    assert model.classifier.bias.grad[O] < -0.1


class Known(nn.Module):
    """A network that gives each piece a tag of its own, wherever it stands."""

    def __init__(self, tags, sure=1.0):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(len(PIECES), len(LABELS)))
        with torch.no_grad():
            for piece, tag in tags.items():
                self.logits[piece, tag] = sure

    def forward(self, input_ids, layout, positions):  # noqa: ARG002
        return self.logits[input_ids[positions]]


TAGS = {ANN: B_PER, PLAY: O, DOT: O, THE: O, PARIS: B_PER, IAN: I_PER, NEW: B_LOC, YORK: I_LOC, ING: I_PER, ED: I_LOC}


def predict(model, encoded):
    """Return the tags of each sentence, and the predictions."""
    predictions = TASK.predict(model, encoded, CPU)
    return lists(encoded.by_sentence(predictions.tags)), predictions


@pytest.mark.parametrize("size", [1, 2, 3, 64])
def test_each_word_has_the_tag_of_its_first_piece_whatever_the_batch(tokenizer, monkeypatch, size):
    monkeypatch.setattr(tagging, "BATCH_TOKENS", size)
    tags, predictions = predict(Known(TAGS), TASK.encode(SENTENCES, tokenizer, 16))
    assert tags == [[B_PER, O, O], [O, B_PER, O, B_LOC, I_LOC], [O], [B_PER, B_PER]]  # York alone continues nothing
    assert predictions.targets == 11


def test_words_without_a_piece_are_outside(tokenizer, monkeypatch):
    monkeypatch.setattr(tagging, "BATCH_TOKENS", 2)
    sentences = columns(
        (["", "Ann", "", "New", "York", "Ann", "Ann"], [O, B_PER, I_PER, B_LOC, I_LOC, B_PER, B_PER]),
        ([""], [B_PER]),
        (["Ann"], [B_PER]),
        ([], []),
        (["", "New", "York"], [O, B_LOC, I_LOC]),
    )
    tags, predictions = predict(Known(TAGS), TASK.encode(sentences, tokenizer, 5))
    assert tags == [[O, B_PER, O, B_LOC, I_LOC, B_PER, B_PER], [O], [B_PER], [], [O, B_LOC, I_LOC]]
    assert predictions.targets == 5 + 1 + 2
    assert predictions.probabilities[[0, 2, 7]].tolist() == [1, 1, 1]


def test_however_short_the_windows_every_gold_entity_is_judged(tokenizer):
    words, tags = ["Ann", "the", "New", "York", "Ann", ""], [B_PER, O, B_LOC, I_LOC, B_PER, B_LOC]
    for length in range(3, 9):
        encoded = TASK.encode(columns((words, tags)), tokenizer, length)
        scores = TASK.scores(encoded, TASK.predict(Known(TAGS), encoded, CPU))
        assert (scores["precision"], scores["recall"]) == (1, 3 / 4)  # what has no piece cannot be found, and counts


def test_the_loss_of_predictions_is_the_mean_over_the_words_that_are_read(tokenizer, monkeypatch):
    monkeypatch.setattr(tagging, "BATCH_TOKENS", 3)
    model, encoded = new_model(0.4), TASK.encode(SENTENCES, tokenizer, 8)
    model.train()
    predictions = TASK.predict(model, encoded, CPU)
    assert model.training
    model.eval()
    expected = losses(model, encoded, range(5))
    assert predictions.targets == len(expected) == 11
    assert TASK.scores(encoded, predictions)["loss"] == pytest.approx(np.mean(expected), abs=1e-5)


def test_predictions_of_the_network_are_the_same_whatever_the_batch(tokenizer, monkeypatch):
    model, encoded = new_model(), TASK.encode(SENTENCES, tokenizer, 16)
    windows = encoded.windows
    with torch.no_grad():
        model.classifier.bias -= torch.cat([logits_of(model, ids) for ids in windows.input_ids]).mean(0)
        rows = [logits_of(model, ids)[places] for ids, places in zip(windows.input_ids, windows.places, strict=True)]
    scores = torch.log_softmax(torch.cat(rows), 1).numpy()
    expected = tagging.best_tags(scores, windows.ends, LABELS)
    for size in (1, 2, 64):
        monkeypatch.setattr(tagging, "BATCH_TOKENS", size)
        predictions = TASK.predict(model, encoded, CPU)
        assert predictions.tags.tolist() == expected.tolist()
        assert predictions.probabilities == pytest.approx(np.exp(scores[np.arange(11), expected]), abs=1e-5)
    assert len({*expected.tolist()}) > 2


def predictions(*tags, probabilities=None):
    tags = np.concatenate(tags)
    probabilities = np.ones(len(tags)) if probabilities is None else np.array(probabilities)
    return Predictions(tags, probabilities, loss=6.0, targets=4)


def test_scores_by_hand(tokenizer):
    encoded = TASK.encode(SENTENCES, tokenizer, 16)
    found = predictions([B_PER, O, B_LOC], [O, B_PER, O, B_LOC, O], [B_LOC], [B_LOC, I_LOC])
    # Gold: Ann, Parisian, New York, York, Paris, Paris. Found: Ann, ".", Parisian, New, York, Paris Paris.
    assert TASK.scores(encoded, found) == {
        "loss": 1.5, "precision": 3 / 6, "recall": 3 / 6, "f1": 6 / 12, "exact_f1": 6 / 12,
        "partial_f1": pytest.approx(2 * (3 + 0.5 + 0.5) / 12),  # New of New York, and one Paris of two
    }  # fmt: skip
    details = TASK.details(SENTENCES, encoded, found)
    table = details.tables["types.csv"]
    assert table.columns == ("type", "precision", "recall", "f1", "support")
    assert table.rows == [
        {"type": "LOC", "precision": 1 / 4, "recall": 1 / 4, "f1": 2 / 8, "support": 4},
        {"type": "PER", "precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 2},
    ]
    assert details.warnings == []
    (figure,) = details.figures
    assert (figure.shape, figure.table, figure.y, figure.value) == ("bars", "types.csv", "type", "f1")
    first, second, *_ = details.cases
    assert (first.gold, first.predicted, first.error) == ("0-0:PER", "0-0:PER 2-2:LOC", 1)
    assert (second.gold, second.predicted, second.error) == ("1-1:PER 3-4:LOC", "1-1:PER 3-3:LOC", 2)


def test_a_sentence_is_as_sure_as_the_least_sure_tag_of_what_was_found(tokenizer):
    encoded = TASK.encode(SENTENCES, tokenizer, 16)
    found = predictions(
        [B_PER, O, O], [O, B_PER, O, B_LOC, I_LOC], [O], [O, O],
        probabilities=[0.9, 0.2, 0.3, 0.1, 0.8, 0.1, 0.7, 0.6, 0.5, 0.4, 0.35],
    )  # fmt: skip
    cases = TASK.details(SENTENCES, encoded, found).cases
    assert [(case.predicted, case.probability) for case in cases] == [
        ("0-0:PER", 0.9), ("1-1:PER 3-4:LOC", 0.6), ("none", 0.5), ("none", 0.35),
    ]  # fmt: skip


def test_a_sentence_without_words_has_no_probability(tokenizer):
    sentences = columns(([], []), (["Ann"], [B_PER]))
    encoded = TASK.encode(sentences, tokenizer, 16)
    cases = TASK.details(sentences, encoded, TASK.predict(Known(TAGS), encoded, CPU)).cases
    assert [(case.gold, case.predicted, case.error) for case in cases] == [
        ("none", "none", 0), ("0-0:PER", "0-0:PER", 0),
    ]  # fmt: skip
    assert cases[0].probability is None


def test_where_nothing_is_predicted_it_is_said(tokenizer):
    encoded = TASK.encode(SENTENCES, tokenizer, 16)
    nothing = predictions([O, O, O], [O, I_PER, O, O, I_LOC], [I_LOC], [O, O])
    assert {*TASK.scores(encoded, nothing).values()} == {1.5, 0.0}
    details = TASK.details(SENTENCES, encoded, nothing)
    assert details.warnings == ["no entity was predicted: every score is 0"]
    assert [row["support"] for row in details.tables["types.csv"].rows] == [4, 2]


def test_without_a_word_that_is_read_the_loss_is_nought(tokenizer):
    encoded = TASK.encode(columns(([""], [B_PER])), tokenizer, 16)
    found = TASK.predict(Known(TAGS), encoded, CPU)
    assert {*TASK.scores(encoded, found).values()} == {0.0}
    assert TASK.loss(new_model(), TASK.batch(encoded, np.array([0])), CPU).item() == 0


def manifest(counts, **changes):
    return {"labels": LABELS, "splits": {"train": {"labels": dict(zip(LABELS, counts, strict=True))}}, **changes}


def test_the_task_is_that_of_the_manifest():
    task = make_task(SimpleNamespace(max_seq_length=24), manifest([9, 1, 1, 1, 0]))
    assert task.labels == LABELS
    assert task.types == ["LOC", "PER"]
    assert list(task.metrics) == ["f1", "precision", "recall", "exact_f1", "partial_f1"]
    assert task.criterion == "f1"
    assert task.config() == {
        "id2label": {"0": "O", "1": "B-LOC", "2": "I-LOC", "3": "B-PER", "4": "I-PER"},
        "label2id": {"O": 0, "B-LOC": 1, "I-LOC": 2, "B-PER": 3, "I-PER": 4},
    }
    assert "O, B-LOC, I-LOC, B-PER, I-PER" in task.summary
    assert task.notes == []


def test_what_is_odd_in_the_examples_is_told_with_the_scores(tokenizer):
    off = {
        "scheme": "bio",
        "off_scheme_tags": {"I-LOC": 2, "I-PER": 1},
        "first_off_scheme": "a.tsv, sentence 1, word 2",
    }
    task = make_task(SimpleNamespace(max_seq_length=24), manifest([9, 1, 1, 0, 0], **off))
    encoded = task.encode(SENTENCES, tokenizer, 16)
    off_scheme, unseen = task.details(SENTENCES, encoded, TASK.predict(Known(TAGS), encoded, CPU)).warnings
    assert off_scheme.startswith(
        "3 tags are not as the scheme bio has them (the first: a.tsv, sentence 1, word 2); each"
    )
    assert unseen == "no training example has an entity of type PER: none can be found"


def test_the_most_frequent_tag_of_each_word():
    training = columns(
        (["a", "b", "c", "d"], [I_LOC, B_PER, O, B_LOC]),
        (["a", "b", "c", "d"], [O, B_PER, B_LOC, I_LOC]),
        (["b", "d", "c"], [O, I_LOC, B_LOC]),
        (["e", "e", "e", "e"], [I_PER, B_PER, B_PER, I_PER]),
    )
    # a: O and I-LOC once each, O comes first; e: a tie of B-PER and I-PER; A is another word than a.
    assert most_frequent_tags(training, [["a", "b", "c", "d", "e"], [], ["A", "new"]]) == [
        [O, B_PER, B_LOC, I_LOC, B_PER], [], [O, O],
    ]  # fmt: skip
    assert most_frequent_tags(columns(), [["a"]]) == [[O]]


def test_the_baseline_learns_from_training_alone_and_is_scored_on_the_test_split():
    splits = {
        "train": columns((["Ann", "in", "New", "York"], [B_PER, O, B_LOC, I_LOC])),
        "validation": columns((["Paris"], [B_LOC])),
        "test": columns((["New", "York", "in", "Ann"], [B_LOC, I_LOC, O, O]), (["Paris", "York"], [B_LOC, I_LOC])),
    }
    (rule,) = TASK.baselines(Dataset({}, splits), UNUSED)
    assert rule.key == "frequent"
    assert rule.scores == {"precision": 1 / 2, "recall": 1 / 2, "f1": 2 / 4, "exact_f1": 2 / 4, "partial_f1": 2 / 4}


def test_each_interval_is_that_of_its_score(tokenizer):
    """Of two entities in each sentence one is found, and nothing else: no draw of sentences changes a score."""
    sentences = columns(*[(["Ann", "York"], [B_PER, B_LOC])] * 3)
    encoded = TASK.encode(sentences, tokenizer, 16)
    intervals = TASK.details(sentences, encoded, predictions(*[[B_PER, O]] * 3)).intervals
    assert intervals == {"f1": (2 / 3, 2 / 3), "precision": (1.0, 1.0), "recall": (0.5, 0.5)}
