import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskline.tasks.tokens.words import words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\n", []),
        ("Ann lives in Paris.", ["Ann", "lives", "in", "Paris", "."]),
        ("(Paris, France)", ["(", "Paris", ",", "France", ")"]),
        ("“Paris”…", ["“", "Paris", "”", "…"]),
        ("al-Qaeda, AT&T: 3.5% of 1,000", ["al-Qaeda", ",", "AT&T", ":", "3.5", "%", "of", "1,000"]),
        ("Paris,France (Texas)or 12:30: 1,5a", ["Paris", ",", "France", "(", "Texas", ")", "or", "12:30", ":", "1,5a"]),
        ("Rome,5 5:a", ["Rome", ",", "5", "5", ":", "a"]),
        ("a—b a…b x²", ["a", "—", "b", "a", "…", "b", "x²"]),
        ("2001–2002 -- end", ["2001–2002", "-", "-", "end"]),
        ("J. R. R. Tolkien", ["J.", "R.", "R.", "Tolkien"]),
        ("the U.S. and the U.N.", ["the", "U.S.", "and", "the", "U.N."]),
        ("St. Louis", ["St", ".", "Louis"]),
        ("Ann's and Lee’s, O'Brien", ["Ann", "'s", "and", "Lee", "’s", ",", "O'Brien"]),
        ("ذهب محمد، إلى القاهرة.", ["ذهب", "محمد", "،", "إلى", "القاهرة", "."]),
        ("مُحَمَّد", ["مُحَمَّد"]),  # short vowels are marks
        ("cafe\u0301.", ["cafe\u0301", "."]),
        ("हिन्दी में।", ["हिन्दी", "में", "।"]),
        ("می\u200cرود", ["می\u200cرود"]),
        ("\u200fمحمد\u200f.", ["محمد", "."]),
        ("東京タワー。", ["東", "京", "タ", "ワ", "ー", "。"]),
        ("서울에서", ["서울에서"]),
        ("[SEP] [MASK]", ["[", "SEP", "]", "[", "MASK", "]"]),
        ("\ufeffa\u00a0b\x00", ["a", "b"]),
        ("\ud800a", ["a"]),
    ],
)
def test_words_by_hand(text, words):
    assert [text[word.start : word.end] for word in words_of(text)] == words


@given(st.text(st.characters(), max_size=30))
def test_words_follow_one_another_and_leave_out_spaces_and_what_has_no_shape(text):
    found = words_of(text)
    places = [place for word in found for place in range(word.start, word.end)]
    assert places == sorted(set(places))
    assert all(word.start < word.end for word in found)
    assert not any(character.isspace() for word in found for character in text[slice(*word)])
    assert all(place in places for place, character in enumerate(text) if character.isalnum())
