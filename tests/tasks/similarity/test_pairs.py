import math

import numpy as np
import pytest
import torch

from maskline.tasks.similarity.model import contrastive_loss
from maskline.tasks.similarity.pairs import NONE, Answers, encode_pairs, offered
from maskline.tokenization.load import load_tokenizer
from tests.tiny import SPECIAL, write_tokenizer

CLS, SEP, UNK = SPECIAL.cls, SPECIAL.sep, SPECIAL.unk


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return load_tokenizer(write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer"))


def test_each_text_is_encoded_once(tokenizer):
    first, second = ["w5 w6", "w7", "W5  w6", ""], ["w7", "w8", "w5 w6", "w7"]
    encoded = encode_pairs([first, second], tokenizer, 8)
    assert [ids.tolist() for ids in encoded.texts.input_ids] == [
        [CLS, 5, 6, SEP],
        [CLS, 7, SEP],
        [CLS, SEP],
        [CLS, 8, SEP],
    ]
    assert encoded.spelled == ["w5 w6", "w7", "", "w8"]
    assert encoded.rows.tolist() == [[0, 1], [1, 3], [0, 0], [2, 1]]
    assert encoded.lengths.tolist() == [7, 6, 8, 5]
    assert encoded.cut == 0
    assert encoded.texts.unk_rate == 0


def test_a_negative_may_be_missing(tokenizer):
    encoded = encode_pairs([["w5", "w6"], ["w7", "w7"], [None, "w5 w8"]], tokenizer, 8)
    assert encoded.rows.tolist() == [[0, 2, NONE], [1, 2, 3]]
    assert encoded.lengths.tolist() == [6, 10]


def test_pairs_with_a_text_that_is_too_long_are_counted(tokenizer):
    long = "w5 w6 w7 w8"
    encoded = encode_pairs([["w9", long, "w9", "w5 w6 w7"], [long, f"{long} w9", "w5", "?"]], tokenizer, 5)
    assert encoded.cut == 2
    assert encoded.rows.tolist() == [[0, 1], [1, 1], [0, 2], [1, 3]]  # what is read of them is the same
    assert max(encoded.texts.sizes) == 5
    assert encoded.texts.unk_rate == 1 / 6


def test_what_is_offered_is_there_once():
    assert offered(np.array([[3, NONE], [0, 3]]), 5).tolist() == [True, False, False, True, False]
    assert not offered(np.array([NONE]), 2).any()


def test_no_right_answer_is_taken_for_a_wrong_one():
    """The pairs a-p, b-q, a-q, q-a of the texts a, b, p, q, and the negative n."""
    a, b, p, q, n = range(5)
    questions, answers = np.array([a, b, a, q]), np.array([p, q, q, a])
    among = Answers(questions.tolist(), answers.tolist()).choices(
        questions, answers, offered(np.array([p, q, a, n]), 5)
    )
    assert [np.flatnonzero(row).tolist() for row in among] == [
        [p, n],  # q belongs to a as well, and a is the question
        [a, p, q, n],
        [q, n],
        [a, p, n],  # q is the question
    ]


def test_a_text_may_be_its_own_answer():
    questions, answers = np.array([0, 1]), np.array([0, 2])
    among = Answers([0, 1], [0, 2]).choices(questions, answers, offered(answers, 3))
    assert among.tolist() == [[True, False, True], [True, False, True]]


def test_the_contrastive_loss_of_a_small_case():
    """Text 0 finds 1 (cosine 0.8) before 2 (0.6) and not 3, which is the same as 1; text 2 finds 3 alone."""
    vectors = torch.tensor([[1, 0], [0.8, 0.6], [0.6, 0.8], [0.8, 0.6]], requires_grad=True)
    among = torch.tensor([[False, True, True, False], [False, False, False, True]])
    loss = contrastive_loss(vectors, torch.tensor([0, 2]), torch.tensor([1, 3]), among, 0.1)
    assert loss.item() == pytest.approx(math.log(1 + math.exp((0.6 - 0.8) / 0.1)), rel=1e-4)
    loss.backward()
    assert vectors.grad.isfinite().all()
    assert not vectors.grad[3].any()


def test_one_pair_alone_has_nothing_to_learn_from():
    vectors = torch.tensor([[1.0, 0], [0, 1]], requires_grad=True)
    loss = contrastive_loss(vectors, torch.tensor([0]), torch.tensor([1]), torch.tensor([[False, True]]), 0.05)
    loss.backward()
    assert loss.item() == 0
    assert not vectors.grad.any()
