import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskline.tasks.spans.answers import exact_match, f1, normalized, words


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "The  Normans,\n(of) A Duchy!", "normans of duchy"),
        ("en-GB", "An apple", "apple"),
        ("en", "another theory, atheist", "another theory atheist"),  # no articles within words
        ("en", "a.b. the-end", "ab theend"),  # as SQuAD: punctuation goes before articles
        ("en", "“quoted” – dash", "“quoted” – dash"),  # as SQuAD: of ASCII alone
        ("en", "U.S.", "us"),
        ("en", "The", "the"),  # nothing would be left
        ("en", " + ", "+"),
        ("en", "...", "..."),
        ("en", " ", ""),
        ("fr", "“L’été” – à 10 %", "lété à 10"),
        ("de", "The Große ÄPFEL", "the große äpfel"),
        ("fr", "e\u0301te\u0301", "été"),
        ("ar", "العربيّةُ، «مُحَمَّدٌ»؟", "العربية محمد"),
        ("ar", "محمـــد", "محمد"),
        ("ar", "القاهرة", "القاهرة"),  # the article is of the word
        ("ar", "ألمانيا ا\u0653ب", "ألمانيا آب"),  # hamza and madda are of the letter
        ("ar", "\u064e", ""),
        ("ar", "،", "،"),
        ("fa", "می\u200cرود", "می\u200cرود"),
        ("zh", "《红楼梦》，曹雪芹。", "红楼梦曹雪芹"),
    ],
)
def test_a_text_is_normalized_by_the_rules_of_its_language(language, text, expected):
    assert normalized(text, language) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "the red  House", ["red", "house"]),
        ("zh", "红楼 NBA 2008年", ["红", "楼", "nba", "2008", "年"]),
        ("zh-Hant", "紅", ["紅"]),
        ("ja", "東京・とうきょう", [*"東京とうきょう"]),
        ("th", "กรุง", [*"กรุง"]),
        ("ko", "서울 특별시", ["서울", "특별시"]),
        ("en", "", []),
    ],
)
def test_words_are_characters_where_a_language_has_no_spaces(language, text, expected):
    assert words(text, language) == expected


@pytest.mark.parametrize(
    ("predicted", "golds", "f", "exact"),
    [
        ("the 1920s", ["1920s"], 1, 1),
        ("in the 1920s", ["1920s"], 2 / 3, 0),
        ("1920", ["1920s"], 0, 0),
        ("b a c", ["c a b"], 1, 0),  # the article goes in both: b c and c b
        ("x x y", ["x y y"], 2 * 2 / 6, 0),  # x once, y once
        ("x", ["y", "x z", "x q r"], 2 / 3, 0),  # the best of several
        ("q", ["y", "q"], 1, 1),
        ("The", ["the"], 1, 1),
        ("The", ["a"], 0, 0),
        ("+", ["-"], 0, 0),  # SQuAD's own scorer has both empty and equal
        (" ", ["\n"], 1, 1),
        (None, [], 1, 1),
        (None, ["x"], 0, 0),
        (None, ["the"], 0, 0),
        ("x", [], 0, 0),
        ("", [], 0, 0),
    ],
)
def test_scores_by_hand(predicted, golds, f, exact):
    assert f1(predicted, golds, "en") == pytest.approx(f)
    assert exact_match(predicted, golds, "en") == exact


def test_arabic_answers_by_hand():
    assert exact_match("محمد بن عبد الله", ["مُحَمَّد بن عبد الله،"], "ar") == 1
    # القاهرة and قاهرة are two words: three of four are shared.
    assert f1("مدينة القاهرة في مصر", ["مدينة قاهرة في مصر"], "ar") == pytest.approx(3 / 4)
    assert f1("والقاهرة", ["القاهرة"], "ar") == 0


def test_chinese_answers_share_characters():
    assert f1("曹雪芹先生", ["曹雪芹"], "zh") == pytest.approx(2 * 3 / 8)
    assert f1("曹雪芹先生", ["曹雪芹"], "ko") == 0


def squad_f1(predicted, gold):
    """Return what SQuAD's scorer gives where something is left of both texts (Rajpurkar et al. 2016)."""
    bags = []
    for text in (predicted, gold):
        kept = "".join(character for character in text.lower() if character not in string.punctuation)
        bags.append([word for word in kept.split() if word not in {"a", "an", "the"}])
    mine, theirs = bags
    same = sum(min(mine.count(word), theirs.count(word)) for word in set(mine))
    return 2 * same / (len(mine) + len(theirs)) if mine and theirs else None


@given(*[st.lists(st.sampled_from(["a", "The", "an", "x", "Y", "x.", "(y)", "z!"])).map(" ".join) for _ in range(2)])
def test_english_is_scored_as_in_squad(predicted, gold):
    expected = squad_f1(predicted, gold)
    if expected is not None:
        assert f1(predicted, [gold], "en") == pytest.approx(expected)


@given(st.text(), st.sampled_from(["en", "ar", "zh", "fr"]))
def test_a_text_is_right_for_itself_in_every_language(text, language):
    assert exact_match(text, [text], language) == f1(text, [text], language) == 1
