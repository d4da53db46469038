import pytest

from maskline.errors import UserError
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.quality import check_unk_rate, measure
from maskline.tokenization.wordpiece import train


def test_figures_against_a_count_by_hand(params):
    tokenizer = LoadedTokenizer(train(lambda: ["one two one two"], params()))
    assert measure(tokenizer, ["one two¡", "one\none ñññ"]) == {
        "vocab_size": tokenizer.vocab_size,
        "words": 5,
        "tokens": 6,  # one two [UNK] | one one [UNK]
        "unk_rate": 2 / 6,
        "tokens_per_word": 6 / 5,
        "characters_per_token": 19 / 6,
    }


def test_no_text_has_figures_too(params):
    tokenizer = LoadedTokenizer(train(lambda: ["one two one two"], params()))
    assert measure(tokenizer, [])["unk_rate"] == 0


def test_a_rate_above_the_limit_is_refused():
    check_unk_rate(0.01, 0.01)
    with pytest.raises(UserError, match=r"1\.50% .* tokenizer\.max_unk_rate 1\.00%"):
        check_unk_rate(0.015, 0.01)
