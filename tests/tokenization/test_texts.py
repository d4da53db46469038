import random

import numpy as np
import pytest
from transformers import AutoTokenizer

from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import files_for_model
from maskline.tokenization.texts import encode_texts
from tests.tiny import SPECIAL, write_tokenizer

CLS, SEP, UNK = SPECIAL.cls, SPECIAL.sep, SPECIAL.unk


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer")


def ids(encoded):
    return [row.tolist() for row in encoded.input_ids]


def test_a_pair_stands_between_separators_and_the_second_text_has_its_type(tokenizer):
    encoded = encode_texts(["w5 w6", "w7"], load_tokenizer(tokenizer), 9, ["w8", "w9 @ w11"])
    assert ids(encoded) == [[CLS, 5, 6, SEP, 8, SEP], [CLS, 7, SEP, 9, UNK, 11, SEP]]
    assert encoded.sizes.tolist() == [6, 7]
    assert (encoded.cut, encoded.unk_rate) == (0, 1 / 7)
    batch = encoded.packed(np.array([1, 0]))
    assert batch.input_ids.tolist() == [CLS, 7, SEP, 9, UNK, 11, SEP, CLS, 5, 6, SEP, 8, SEP]
    assert batch.token_type_ids.tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1]
    assert batch.lengths.tolist() == [7, 6]


def test_the_types_of_single_texts_are_zeros(tokenizer):
    batch = encode_texts(["w5 w6", "w7"], load_tokenizer(tokenizer), 9).packed(np.array([0, 1]))
    assert batch.token_type_ids.tolist() == [0] * 7


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        (2, 3, (2, 3)),  # as long as is read
        (2, 9, (2, 3)),  # the longer one is cut
        (9, 1, (4, 1)),
        (0, 9, (0, 5)),
        (9, 8, (3, 2)),  # both: an odd token goes to the longer one
        (8, 9, (2, 3)),
        (9, 9, (2, 3)),  # or to the second
        (3, 3, (2, 3)),
    ],
)
def test_of_a_pair_that_is_too_long_the_longer_text_is_cut(tokenizer, first, second, kept):
    a, b = (" ".join(f"w{start + n}" for n in range(size)) for start, size in ((10, first), (30, second)))
    encoded = encode_texts([a], load_tokenizer(tokenizer), 8, [b])
    assert ids(encoded) == [[CLS, *range(10, 10 + kept[0]), SEP, *range(30, 30 + kept[1]), SEP]]
    assert encoded.cut == ((first, second) != kept)


def test_pairs_are_those_of_transformers_whatever_their_lengths(tokenizer, tmp_path):
    files, _ = files_for_model(tokenizer, 37, fills_masks=False)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    draw = random.Random(0)
    texts, seconds = (
        [" ".join(f"w{draw.randint(5, 96)}" for _ in range(draw.randint(1, 14))) for _ in range(60)] for _ in range(2)
    )
    for length in (8, 15):
        theirs = AutoTokenizer.from_pretrained(tmp_path)(texts, seconds, truncation=True, max_length=length)
        encoded = encode_texts(texts, load_tokenizer(tokenizer), length, seconds)
        assert ids(encoded) == theirs["input_ids"]
        types = [encoded.packed(np.array([row])).token_type_ids.tolist() for row in range(60)]
        assert types == theirs["token_type_ids"]
        assert 0 < encoded.cut < 60


def test_a_special_token_that_is_spelled_out_stays_text_in_either_text(tokenizer):
    encoded = encode_texts(["w5 [SEP] w6"], load_tokenizer(tokenizer), 32, ["[CLS] w7 [MASK]"])
    (row,) = ids(encoded)
    assert (row.count(CLS), row.count(SEP), row.count(SPECIAL.mask)) == (1, 2, 0)
    assert len(row) > 6


def test_empty_texts_and_no_texts(tokenizer):
    loaded = load_tokenizer(tokenizer)
    encoded = encode_texts(["", "w5", ""], loaded, 9, ["w6", "", ""])
    assert ids(encoded) == [[CLS, SEP, 6, SEP], [CLS, 5, SEP, SEP], [CLS, SEP, SEP]]
    assert encoded.packed(np.arange(3)).token_type_ids.tolist() == [0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1]
    assert ids(encode_texts([""], loaded, 9)) == [[CLS, SEP]]
    for seconds in (None, []):
        nothing = encode_texts([], loaded, 9, seconds)
        assert (len(nothing), nothing.cut, nothing.unk_rate, nothing.sizes.tolist()) == (0, 0, 0.0, [])
