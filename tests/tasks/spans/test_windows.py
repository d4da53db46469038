from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskline.tasks.spans.windows import window_starts
from maskline.tokenization.load import load_tokenizer
from tests.tasks.spans.asked import PIECES, windows, write_letters
from tests.tiny import SPECIAL

CLS, SEP, UNK = SPECIAL.cls, SPECIAL.sep, SPECIAL.unk


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return load_tokenizer(write_letters(tmp_path_factory.mktemp("tokenizer") / "tokenizer"))


@pytest.fixture(name="arabic", scope="module")
def _arabic(tmp_path_factory):
    return load_tokenizer(write_letters(tmp_path_factory.mktemp("tokenizer") / "tokenizer", "ar"))


def ids(text):
    """Return the ids of letters with spaces between."""
    return [PIECES.index(letter) for letter in text.replace(" ", "")]


def as_read(found, window):
    """Return a window as its pieces; | is [SEP]."""
    return "".join({CLS: "", SEP: "|"}.get(one, PIECES[one]) for one in found.input_ids[window].tolist())


def test_a_context_that_fits_is_one_window(tokenizer):
    found = windows(["a b"], ["c d e"], tokenizer)
    assert [one.tolist() for one in found.input_ids] == [[CLS, *ids("a b"), SEP, *ids("c d e"), SEP]]
    assert (found.prefixes.tolist(), found.firsts.tolist(), found.bounds.tolist()) == ([4], [0], [0, 1])
    assert found.places[0].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert found.sizes.tolist() == [8]
    assert (found.cut, found.unk_rate) == (0, 0)


def test_a_longer_one_is_read_in_windows_that_overlap(tokenizer):
    found = windows(["a b", "a", "", "a b c d"], ["c d e f g h i j"] * 2 + ["c d", "c d e f g h i"], tokenizer, 10)
    # 10 tokens: a question of two leaves five of the context, of one six, of four three; each begins three later.
    assert [as_read(found, window) for window in range(len(found.input_ids))] == [
        "ab|cdefg|", "ab|fghij|", "a|cdefgh|", "a|fghij|", "|cd|", "abcd|cde|", "abcd|fgh|", "abcd|i|",
    ]  # fmt: skip
    assert found.firsts.tolist() == [0, 3, 0, 3, 0, 0, 3, 6]
    assert found.bounds.tolist() == [0, 2, 4, 5, 8]
    assert [found.held(window) for window in range(8)] == [5, 5, 6, 5, 2, 3, 3, 1]
    assert list(found.of(3)) == [5, 6, 7]
    assert found.places[0] is found.places[1]


def test_a_question_is_cut_and_counted(tokenizer):
    found = windows(["a b c d", "a b c d e f", "g"], ["x y"] * 3, tokenizer)
    assert [as_read(found, window) for window in range(3)] == ["abcd|xy|", "abcd|xy|", "g|xy|"]
    assert found.cut == 1


def test_a_window_that_holds_less_than_the_stride_leaves_nothing_out(tokenizer):
    found = windows(["a b c d"], ["c d e f g"], tokenizer, 9, stride=100)
    assert [as_read(found, window) for window in range(3)] == ["abcd|cd|", "abcd|ef|", "abcd|g|"]


@given(st.integers(0, 60), st.integers(1, 12), st.integers(1, 20))
def test_windows_cover_a_context_and_none_is_idle(tokens, room, stride):
    starts = window_starts(tokens, room, stride)
    seen = [set(range(start, min(tokens, start + room))) for start in starts]
    assert set().union(*seen) == set(range(tokens))
    assert all(later - earlier for earlier, later in pairwise(seen))
    assert len(starts) >= 1
    assert starts.step <= room


@pytest.mark.parametrize("context", ["", " ", "\u200b"])
def test_a_context_without_tokens_is_a_window_too(tokenizer, context):
    found = windows(["a"], [context], tokenizer)
    assert as_read(found, 0) == "a||"
    assert found.places[0].shape == (0, 2)
    assert found.targets(0, 0, 1) == [(0, 0)]
    batch = found.batch([0])
    assert batch.candidates.tolist() == [[0]]


def test_a_special_token_that_is_spelled_out_is_text(tokenizer):
    found = windows(["[SEP]"], ["a [CLS] b"], tokenizer, 16)
    sep, cls = (list(map(PIECES.index, pieces)) for pieces in (("s", "##e", "##p"), ("c", "##l", "##s")))
    assert found.input_ids[0].tolist() == [CLS, UNK, *sep, SEP, *ids("a"), UNK, *cls, UNK, *ids("b"), SEP]


def test_what_is_unknown_is_counted_once_however_many_windows_hold_it(tokenizer):
    found = windows(["?"], ["a b c d ? f g h i"], tokenizer, 8, stride=1)
    assert len(found.input_ids) > 4
    assert found.unk_rate == 2 / 10


def test_a_batch_has_the_candidates_of_each_window(tokenizer):
    found = windows(["a b", "a", "q"], ["c d e f g h", "c", ""], tokenizer, 10)
    batch = found.batch(np.array([2, 0, 1, 3]))
    assert batch.lengths.tolist() == [5, 10, 8, 4]
    assert batch.input_ids.tolist() == [one for window in (2, 0, 1, 3) for one in found.input_ids[window].tolist()]
    assert batch.token_type_ids.tolist() == [
        *(0, 0, 0, 1, 1),
        *(0, 0, 0, 0, 1, 1, 1, 1, 1, 1),
        *(0, 0, 0, 0, 1, 1, 1, 1),
        *(0, 0, 0, 1),
    ]
    # [CLS] of each, then the tokens of its context: c; c d e f g; f g h; none.
    assert batch.candidates.tolist() == [
        [0, 3, 0, 0, 0, 0], [5, 9, 10, 11, 12, 13], [15, 19, 20, 21, 0, 0], [23, 0, 0, 0, 0, 0],
    ]  # fmt: skip
    assert batch.are_there.sum(1).tolist() == [2, 6, 4, 1]


def test_the_answer_is_the_target_of_windows_that_hold_all_of_it(tokenizer):
    context = "c d e f g h i j"
    found = windows(["a b"], [context], tokenizer, 10)  # c d e f g and f g h i j

    def targets(answer):
        return found.targets(0, context.index(answer), context.index(answer) + len(answer))

    assert targets("c") == [(1, 1), (0, 0)]  # the beginning of the context
    assert targets("j") == [(0, 0), (5, 5)]  # its end
    assert targets("c d e f g") == [(1, 5), (0, 0)]  # all of a window
    assert targets("f g") == [(4, 5), (1, 2)]  # both edges, in both windows
    assert targets("g h") == [(0, 0), (2, 3)]
    assert targets("e f") == [(3, 4), (0, 0)]
    assert targets("e f g h") == [(0, 0), (0, 0)]  # in none whole
    assert targets("c d e f g h") == [(0, 0), (0, 0)]  # longer than a window
    assert found.targets(0, 1, 2) == [(0, 0), (0, 0)]  # a space has no token


def test_an_answer_within_a_token_has_that_token(tokenizer):
    found = windows(["a"], ["xyz (?!) b"], tokenizer, 16)
    assert found.places[0].tolist() == [[0, 1], [1, 2], [2, 3], [4, 5], [5, 6], [6, 7], [7, 8], [9, 10]]
    assert found.targets(0, 1, 3) == [(2, 3)]
    emoji = windows(["a"], ["😀😀b c"], tokenizer)
    assert emoji.places[0].tolist() == [[0, 3], [4, 5]]  # unknown as a whole
    assert emoji.targets(0, 1, 2) == [(1, 1)]


def spans(found, context):
    return [context[start:end] for start, end in found.places[0].tolist()]


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("e\u0301e\u0301b c", ["e\u0301", "e\u0301", "b", "c"]),  # composed to é, whose mark goes with it
        ("محمـــد بـ", ["م", "ح", "مـــ", "د", "بـ"]),  # without tatweel
        ("ا\u0653ب", ["ا\u0653", "ب"]),
        ("مُح", ["مُ", "ُ", "ح"]),  # tashkeel is a token, and no letter is parted from its mark
        ("a\u200bb\u200f c", ["a", "b", "c"]),
        ("a\u00a0b\r\nc", ["a", "b", "c"]),
        ("b\u0302 x", ["b\u0302", "x"]),
        ("AÉ", ["A", "É"]),
        ("👨\u200d👩 b", ["👨\u200d👩", "b"]),
    ],
)
def test_places_are_those_of_the_context_as_it_was_given(tokenizer, context, expected):
    assert spans(windows(["a"], [context], tokenizer, 16), context) == expected


def test_places_hold_where_one_character_becomes_many(arabic):
    context = "ﻻ ب ﷲ ﬁ ①"
    found = windows(["a"], [context], arabic, 24)
    assert spans(found, context) == ["ﻻ", "ﻻ", "ب", "ﷲ", "ﷲ", "ﷲ", "ﷲ", "ﬁ", "ﬁ", "①"]
    assert found.targets(0, 4, 5) == [(4, 7)]
    assert found.targets(0, 0, 1) == [(1, 2)]
