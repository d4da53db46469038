import pytest

from maskline.core.errors import UserError
from maskline.tokenization.load import LoadedTokenizer
from maskline.vocabulary.quality import check_quality, measure
from maskline.vocabulary.wordpiece import train


def test_figures_against_a_count_by_hand(params):
    tokenizer = LoadedTokenizer(train(lambda: ["one two one two"], params(), "en"))
    assert measure(tokenizer, ["ñññ one", "one ñññ"])["unk_character_rate"] == 6 / 12
    assert measure(tokenizer, ["one two¡", "one\none ñññ"]) == {
        "vocab_size": tokenizer.vocab_size,
        "words": 5,
        "tokens": 6,  # one two [UNK] | one one [UNK]
        "unk_rate": 2 / 6,
        "unk_character_rate": 4 / 16,  # ¡ | ñññ
        "tokens_per_word": 6 / 5,
        "characters_per_token": 19 / 6,
    }


def test_more_unknown_than_the_limit_is_refused(params):
    metrics = {"tokens": 1000, "unk_rate": 0.01, "unk_character_rate": 0.01, "tokens_per_word": 1.0}
    check_quality(metrics, params(max_unk_rate=0.01), "en")
    metrics["unk_rate"] = 0.015
    with pytest.raises(UserError, match=r"1\.50% of the 1,000 validation .*max_unk_rate 1\.00%: raise .*vocab_size"):
        check_quality(metrics, params(max_unk_rate=0.01), "en")
    with pytest.raises(UserError, match="take the tokenizer of another model"):
        check_quality(metrics, params(max_unk_rate=0.01, kind="pretrained"), "en")
    metrics |= {"unk_rate": 0.001, "unk_character_rate": 0.0314}
    with pytest.raises(
        UserError, match=r"0\.10% of the 1,000 .*, and 3\.14% of the characters, above .*max_unk_rate 1\.00%"
    ):
        check_quality(metrics, params(max_unk_rate=0.01), "km")


def test_more_tokens_per_word_than_the_limit_are_refused(params):
    metrics = {"tokens": 1000, "unk_rate": 0.0, "unk_character_rate": 0.0, "tokens_per_word": 3.0}
    check_quality(metrics, params(max_fertility=3.0), "ar")
    metrics["tokens_per_word"] = 3.25
    with pytest.raises(UserError, match=r"3\.25 tokens per word, above tokenizer\.max_fertility 3: raise"):
        check_quality(metrics, params(max_fertility=3.0), "ar")
    check_quality(metrics, params(max_fertility=None), "ar")


@pytest.mark.parametrize("language", ["zh", "zh-yue", "ja", "th"])
def test_tokens_per_word_are_not_asked_of_languages_without_spaces(language, params):
    tokenizer = LoadedTokenizer(train(lambda: ["東京は首都である。" * 2], params(min_frequency=1), language))
    metrics = measure(tokenizer, ["東京は首都である。"])
    assert metrics["tokens_per_word"] > 3
    check_quality(metrics, params(max_fertility=3.0), language)


def test_no_text_says_nothing_about_a_vocabulary(params):
    tokenizer = LoadedTokenizer(train(lambda: ["one two one two"], params(), "en"))
    with pytest.raises(UserError, match="no token to measure"):
        check_quality(measure(tokenizer, []), params(max_unk_rate=1.0), "en")
