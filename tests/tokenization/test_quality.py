import pytest

from maskline.errors import UserError
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.quality import check_quality, measure
from maskline.tokenization.wordpiece import train


def test_figures_against_a_count_by_hand(params):
    tokenizer = LoadedTokenizer(train(lambda: ["one two one two"], params(), "en"))
    assert measure(tokenizer, ["one two¡", "one\none ñññ"]) == {
        "vocab_size": tokenizer.vocab_size,
        "words": 5,
        "tokens": 6,  # one two [UNK] | one one [UNK]
        "unk_rate": 2 / 6,
        "tokens_per_word": 6 / 5,
        "characters_per_token": 19 / 6,
    }


def test_a_rate_above_the_limit_is_refused():
    check_quality({"tokens": 1000, "unk_rate": 0.01}, 0.01)
    with pytest.raises(UserError, match=r"1\.50% of the 1,000 validation .* tokenizer\.max_unk_rate 1\.00%"):
        check_quality({"tokens": 1000, "unk_rate": 0.015}, 0.01)


def test_no_text_says_nothing_about_a_vocabulary(params):
    tokenizer = LoadedTokenizer(train(lambda: ["one two one two"], params(), "en"))
    with pytest.raises(UserError, match="no token to measure"):
        check_quality(measure(tokenizer, []), 1.0)
