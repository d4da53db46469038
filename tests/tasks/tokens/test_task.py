import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from maskline.dataset.read import Dataset
from maskline.model.attention import Layout
from maskline.tasks.tokens import task as module
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
CLS, SEP, UNK = SPECIAL.cls, SPECIAL.sep, SPECIAL.unk
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
    assert lists(encoded.input_ids) == [
        [CLS, ANN, PLAY, ED, DOT, SEP],
        [CLS, THE, PARIS, IAN, PLAY, ING, NEW, YORK, SEP],
        [CLS, YORK, SEP],
        [CLS, PARIS, PARIS, SEP],
    ]
    assert lists(encoded.places) == [[1, 2, 4], [1, 2, 4, 6, 7], [1], [1, 2]]
    assert lists(encoded.words) == [[0, 1, 2], [0, 1, 2, 3, 4], [0], [0, 1]]
    assert lists(encoded.tags) == SENTENCES["tags"]
    assert encoded.sizes.tolist() == [6, 9, 3, 4]
    assert encoded.cut == 0
    assert encoded.unk_rate == 0


def test_a_word_of_many_parts_is_one(tokenizer):
    encoded = TASK.encode(columns((["the.the", "New York", "Ann"], [B_LOC, B_PER, O])), tokenizer, 16)
    assert lists(encoded.input_ids) == [[CLS, THE, DOT, THE, NEW, YORK, ANN, SEP]]
    assert lists(encoded.places) == [[1, 4, 6]]
    assert lists(encoded.words) == [[0, 1, 2]]


@pytest.mark.parametrize("nothing", ["", "\u200b", " "])
def test_a_word_without_a_piece_does_not_shift_the_tags(tokenizer, nothing):
    words = [nothing, "Ann", nothing, nothing, "playing", "York", nothing]
    tags = [O, B_PER, I_PER, O, O, B_LOC, I_LOC]
    encoded = TASK.encode(columns((words, tags), ([nothing], [B_LOC])), tokenizer, 16)
    assert lists(encoded.input_ids) == [[CLS, ANN, PLAY, ING, YORK, SEP], [CLS, SEP]]
    assert lists(encoded.words) == [[1, 4, 5], []]
    assert lists(encoded.places) == [[1, 2, 4], []]
    batch = TASK.batch(encoded, np.array([1, 0]))
    assert batch.tags.tolist() == [B_PER, O, B_LOC]
    assert batch.positions.tolist() == [3, 4, 6]
    assert lists(encoded.tags) == [tags, [B_LOC]]


def test_what_is_unknown_is_counted_in_what_is_read(tokenizer):
    encoded = TASK.encode(columns((["Ann", "?"], [O, O]), (["?", "Ann", "the", "?"], [O] * 4)), tokenizer, 5)
    assert lists(encoded.input_ids) == [[CLS, ANN, UNK, SEP], [CLS, UNK, ANN, THE, SEP]]
    assert encoded.unk_rate == 2 / 5
    assert TASK.encode(columns(), tokenizer, 5).unk_rate == 0


def test_a_sentence_is_cut_at_its_end_and_keeps_all_its_tags(tokenizer):
    words, tags = SENTENCES["words"][1], SENTENCES["tags"][1]
    for length, places in ((9, [1, 2, 4, 6, 7]), (8, [1, 2, 4, 6]), (7, [1, 2, 4]), (6, [1, 2, 4]), (4, [1, 2])):
        encoded = TASK.encode(columns((words, tags), (["Ann"], [B_PER])), tokenizer, length)
        assert encoded.sizes.tolist() == [length, 3]
        assert encoded.input_ids[0][-1] == SEP
        assert lists(encoded.places) == [places, [1]]
        assert lists(encoded.words) == [list(range(len(places))), [0]]
        assert lists(encoded.tags) == [tags, [B_PER]]
        assert encoded.cut == (length < 9)
        assert TASK.batch(encoded, np.array([0])).tags.tolist() == tags[: len(places)]


def test_a_batch_has_the_sentences_of_its_rows_one_after_the_other(tokenizer):
    batch = TASK.batch(TASK.encode(SENTENCES, tokenizer, 16), np.array([2, 0, 3]))
    assert batch.input_ids.tolist() == [CLS, YORK, SEP, CLS, ANN, PLAY, ED, DOT, SEP, CLS, PARIS, PARIS, SEP]
    assert batch.lengths.tolist() == [3, 6, 4]
    assert batch.positions.tolist() == [1, 4, 5, 7, 10, 11]
    assert batch.tags.tolist() == [B_LOC, B_PER, O, O, B_LOC, B_LOC]
    assert TASK.targets(batch) == {"loss": 6, "tokens": 13}


def new_model(dropout=0.0):
    model = TASK.new_model(PARAMS.model_copy(update={"dropout": dropout}), len(PIECES), dropout)
    model.reset(torch.Generator().manual_seed(5))
    return model


def logits_of(model, ids):
    tokens = torch.from_numpy(ids)
    return model(tokens, Layout.of(torch.tensor([len(ids)])), torch.arange(len(ids)))


def losses(model, encoded, rows):
    """Return the loss of each word that is read, sentence by sentence."""
    found = []
    with torch.no_grad():
        for row in rows:
            logits = logits_of(model, encoded.input_ids[row])
            for place, word in zip(encoded.places[row], encoded.words[row], strict=True):
                tag = torch.tensor(int(encoded.tags[row][word]))
                found.append(cross_entropy(logits[place], tag).item())
    return found


def test_the_loss_is_the_sum_over_the_first_pieces(tokenizer):
    model, encoded = new_model(), TASK.encode(SENTENCES, tokenizer, 8)
    rows = np.array([1, 3, 0])
    expected = losses(model, encoded, rows)
    assert len(expected) == 4 + 2 + 3
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


@pytest.mark.parametrize("size", [1, 2, 3, 64])
def test_each_word_has_the_tag_of_its_first_piece_whatever_the_batch(tokenizer, monkeypatch, size):
    monkeypatch.setattr(module, "BATCH_TOKENS", size)
    predictions = TASK.predict(Known(TAGS), TASK.encode(SENTENCES, tokenizer, 16), CPU)
    assert lists(predictions.tags) == [[B_PER, O, O], [O, B_PER, O, B_LOC, I_LOC], [I_LOC], [B_PER, B_PER]]
    assert predictions.targets == 11


def test_words_without_a_piece_and_those_that_are_cut_are_outside(tokenizer, monkeypatch):
    monkeypatch.setattr(module, "BATCH_TOKENS", 2)
    sentences = columns(
        (["", "Ann", "", "New", "York", "Ann", "Ann"], [O, B_PER, I_PER, B_LOC, I_LOC, B_PER, B_PER]),
        ([""], [B_PER]),
        (["Ann"], [B_PER]),
        ([], []),
        (["", "New", "York"], [O, B_LOC, I_LOC]),
    )
    predictions = TASK.predict(Known(TAGS), TASK.encode(sentences, tokenizer, 5), CPU)
    assert lists(predictions.tags) == [[O, B_PER, O, B_LOC, I_LOC, O, O], [O], [B_PER], [], [O, B_LOC, I_LOC]]
    assert predictions.targets == 3 + 1 + 2


def test_words_that_are_cut_keep_their_gold_in_the_score(tokenizer):
    words, tags = ["Ann", "the", "New", "York", "Ann"], [B_PER, O, B_LOC, I_LOC, B_PER]
    found = {}
    for length in (7, 6, 5, 3):
        encoded = TASK.encode(columns((words, tags)), tokenizer, length)
        scores = TASK.scores(encoded, TASK.predict(Known(TAGS), encoded, CPU))
        found[length] = (scores["precision"], scores["recall"])
    assert found == {7: (1, 1), 6: (1, 2 / 3), 5: (1 / 2, 1 / 3), 3: (1, 1 / 3)}  # 5: half of an entity is another one


def test_the_loss_of_predictions_is_the_mean_over_the_words_that_are_read(tokenizer, monkeypatch):
    monkeypatch.setattr(module, "BATCH_TOKENS", 3)
    model, encoded = new_model(0.4), TASK.encode(SENTENCES, tokenizer, 8)
    model.train()
    predictions = TASK.predict(model, encoded, CPU)
    assert model.training
    model.eval()
    expected = losses(model, encoded, range(4))
    assert predictions.targets == len(expected) == 10
    assert TASK.scores(encoded, predictions)["loss"] == pytest.approx(np.mean(expected), abs=1e-5)


def test_predictions_of_the_network_are_the_same_whatever_the_batch(tokenizer, monkeypatch):
    model, encoded = new_model(), TASK.encode(SENTENCES, tokenizer, 16)
    expected = []
    with torch.no_grad():
        model.classifier.bias -= torch.cat([logits_of(model, ids) for ids in encoded.input_ids]).mean(0)
        for ids, places in zip(encoded.input_ids, encoded.places, strict=True):
            expected.append(logits_of(model, ids)[places].argmax(1).tolist())
    for size in (1, 2, 64):
        monkeypatch.setattr(module, "BATCH_TOKENS", size)
        assert lists(TASK.predict(model, encoded, CPU).tags) == expected
    assert len({tag for tags in expected for tag in tags}) > 2


def predictions(*tags):
    return Predictions([np.array(part) for part in tags], loss=6.0, targets=4)


def test_scores_by_hand(tokenizer):
    encoded = TASK.encode(SENTENCES, tokenizer, 16)
    found = predictions([B_PER, O, B_LOC], [O, B_PER, O, B_LOC, O], [B_LOC], [B_LOC, I_LOC])
    # Gold: Ann, Parisian, New York, York, Paris, Paris. Found: Ann, ".", Parisian, New, York, Paris Paris.
    assert TASK.scores(encoded, found) == {"loss": 1.5, "precision": 3 / 6, "recall": 3 / 6, "f1": 6 / 12}
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


def test_where_nothing_is_predicted_it_is_said(tokenizer):
    encoded = TASK.encode(SENTENCES, tokenizer, 16)
    nothing = predictions([O, O, O], [O, I_PER, O, O, I_LOC], [I_LOC], [O, O])
    assert TASK.scores(encoded, nothing) == {"loss": 1.5, "precision": 0.0, "recall": 0.0, "f1": 0.0}
    details = TASK.details(SENTENCES, encoded, nothing)
    assert details.warnings == ["no entity was predicted: every score is 0"]
    assert [row["support"] for row in details.tables["types.csv"].rows] == [4, 2]


def test_without_a_word_that_is_read_the_loss_is_nought(tokenizer):
    encoded = TASK.encode(columns(([""], [B_PER])), tokenizer, 16)
    found = TASK.predict(Known(TAGS), encoded, CPU)
    assert TASK.scores(encoded, found) == {"loss": 0.0, "precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert TASK.loss(new_model(), TASK.batch(encoded, np.array([0])), CPU).item() == 0


def test_the_task_is_that_of_the_manifest():
    task = make_task(None, {"labels": LABELS})
    assert task.labels == LABELS
    assert task.types == ["LOC", "PER"]
    assert list(task.metrics) == ["f1", "precision", "recall"]
    assert task.criterion == "f1"
    assert task.config() == {
        "id2label": {"0": "O", "1": "B-LOC", "2": "I-LOC", "3": "B-PER", "4": "I-PER"},
        "label2id": {"O": 0, "B-LOC": 1, "I-LOC": 2, "B-PER": 3, "I-PER": 4},
    }
    assert "O, B-LOC, I-LOC, B-PER, I-PER" in task.summary


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
    assert rule.scores == {"precision": 1 / 2, "recall": 1 / 2, "f1": 2 / 4}
