import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskline.tasks.tokens.windows import Window, read_words, windows_of
from maskline.tokenization.load import load_tokenizer
from tests.tasks.tokens.tagged import ANN, DOT, ED, IAN, ING, NEW, PARIS, PLAY, THE, YORK, write_pieces
from tests.tiny import SPECIAL

CLS, SEP, UNK = SPECIAL.cls, SPECIAL.sep, SPECIAL.unk


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return load_tokenizer(write_pieces(tmp_path_factory.mktemp("tokenizer") / "tokenizer"))


def lists(arrays):
    return [array.tolist() for array in arrays]


def test_a_sentence_that_fits_is_one_sequence(tokenizer):
    read = read_words([["Ann", "played", "."], ["York"], ["the", "Parisian"]], tokenizer, 7)
    assert lists(read.input_ids) == [[CLS, ANN, PLAY, ED, DOT, SEP], [CLS, YORK, SEP], [CLS, THE, PARIS, IAN, SEP]]
    assert lists(read.places) == [[1, 2, 4], [1], [1, 2]]
    assert lists(read.words) == [[0, 1, 2], [3], [4, 5]]
    assert read.ends.tolist() == [3, 4, 6]
    assert read.sizes.tolist() == [6, 3, 5]
    assert (read.windowed, read.cut, read.unk_rate) == (0, 0, 0)


def test_a_longer_sentence_is_read_in_windows_and_each_word_once(tokenizer):
    words = ["Ann", "the", "New", "York", "Paris", "Ann", "."]
    read = read_words([["the"], words], tokenizer, 6)
    assert lists(read.input_ids) == [
        [CLS, THE, SEP],
        [CLS, ANN, THE, NEW, YORK, SEP],
        [CLS, NEW, YORK, PARIS, ANN, SEP],
        [CLS, PARIS, ANN, DOT, SEP],
    ]
    assert lists(read.words) == [[0], [1, 2, 3], [4, 5], [6, 7]]  # in the middle of what two windows share
    assert lists(read.places) == [[1], [1, 2, 3], [2, 3], [2, 3]]
    assert (read.windowed, read.cut) == (1, 0)


def test_a_window_has_whole_words(tokenizer):
    read = read_words([["playing", "Parisian", "played", "Ann"]], tokenizer, 7)  # 2, 2, 2 and 1 pieces; 5 fit
    assert lists(read.input_ids) == [[CLS, PLAY, ING, PARIS, IAN, SEP], [CLS, PARIS, IAN, PLAY, ED, ANN, SEP]]
    assert lists(read.words) == [[0, 1], [2, 3]]
    assert lists(read.places) == [[1, 3], [3, 5]]


def test_a_word_that_is_longer_is_known_by_its_beginning_and_counted(tokenizer):
    read = read_words([["Ann", "the.the.the", "York"], ["Ann"]], tokenizer, 5)
    assert lists(read.input_ids) == [[CLS, ANN, SEP], [CLS, THE, DOT, THE, SEP], [CLS, YORK, SEP], [CLS, ANN, SEP]]
    assert lists(read.words) == [[0], [1], [2], [3]]
    assert (read.windowed, read.cut) == (1, 1)


@pytest.mark.parametrize("nothing", ["", "\u200b", " "])
def test_a_word_without_a_piece_is_read_nowhere(tokenizer, nothing):
    read = read_words([[nothing, "Ann", nothing, "playing", nothing], [nothing], [], ["York"]], tokenizer, 16)
    assert lists(read.input_ids) == [[CLS, ANN, PLAY, ING, SEP], [CLS, SEP], [CLS, SEP], [CLS, YORK, SEP]]
    assert lists(read.words) == [[1, 3], [], [], [6]]
    assert read.ends.tolist() == [5, 6, 6, 7]


def test_a_special_token_that_is_spelled_out_is_text(tokenizer):
    read = read_words([["[SEP]", "Ann"]], tokenizer, 16)
    assert read.input_ids[0].tolist().count(SEP) == 1
    assert lists(read.words) == [[0, 1]]


def test_what_is_unknown_is_counted(tokenizer):
    assert read_words([["Ann", "?"], ["?", "Ann", "the"]], tokenizer, 5).unk_rate == 2 / 5
    nothing = read_words([], tokenizer, 5)
    assert (nothing.unk_rate, nothing.sizes.tolist(), nothing.ends.tolist()) == (0, [], [])


@given(st.lists(st.integers(1, 9), max_size=40), st.integers(1, 12))
def test_windows_fit_overlap_and_share_out_the_words(sizes, longest):
    edges = np.append(0, np.cumsum(sizes, dtype=np.int64))
    found = [*windows_of(edges[:-1], int(edges[-1]), longest)]
    assert [word for window in found for word in range(window.first, window.last)] == [*range(len(sizes))]
    for window in found:
        assert window.start <= window.first <= window.last <= window.end
        assert edges[window.end] - edges[window.start] <= longest or window.end == window.start + 1
    for one, other in itertools.pairwise(found):
        assert one.start < other.start <= one.end < other.end
        assert edges[one.end] - edges[other.start] <= longest // 2


def test_a_word_is_read_where_it_has_more_words_around_it():
    assert [*windows_of(np.arange(20), 20, 8)] == [
        Window(0, 8, 0, 6), Window(4, 12, 6, 10), Window(8, 16, 10, 14), Window(12, 20, 14, 20),
    ]  # fmt: skip
