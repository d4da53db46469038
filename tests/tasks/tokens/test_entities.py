import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskline.tasks.tokens.entities import SCHEMES, Entity, entities, read_entities, spell

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", []),
        ("O O", []),
        ("B-X", [(0, 1, "X")]),
        ("O B-X I-X O", [(1, 3, "X")]),
        ("B-X I-X I-X", [(0, 3, "X")]),
        ("I-X I-X O", []),  # without a beginning
        ("O I-X B-X", [(2, 3, "X")]),
        ("B-X I-Y", [(0, 1, "X")]),  # another type ends it and begins nothing
        ("B-X I-Y I-X", [(0, 1, "X")]),
        ("B-X I-X I-Y I-Y B-Y", [(0, 2, "X"), (4, 5, "Y")]),
        ("B-X B-X", [(0, 1, "X"), (1, 2, "X")]),  # adjacent
        ("B-X I-X B-X I-X", [(0, 2, "X"), (2, 4, "X")]),
        ("B-X B-Y I-Y", [(0, 1, "X"), (1, 3, "Y")]),
        ("B-X O I-X", [(0, 1, "X")]),
    ],
)
def test_entities_by_hand(tags, expected):
    assert entities(tags.split()) == expected


def test_a_type_may_have_a_hyphen():
    assert entities(["B-work-of-art", "I-work-of-art", "I-work"]) == [(0, 2, "work-of-art")]


@given(st.lists(st.sampled_from(TAGS), max_size=12))
def test_an_entity_is_a_beginning_and_all_that_goes_on_from_it(tags):
    letters = "".join("OXxYy"[TAGS.index(tag)] for tag in tags)
    assert entities(tags) == [(*match.span(), match[0][0]) for match in re.finditer("Xx*|Yy*", letters)]


# The same two sentences in every scheme: a name of three words beside one of one word, and neighbours of one type.
SPELLED = {
    "bio": ["B-X I-X I-X B-Y O", "B-X B-X I-X O"],
    "iob1": ["I-X I-X I-X I-Y O", "I-X B-X I-X O"],
    "bioes": ["B-X I-X E-X S-Y O", "S-X B-X E-X O"],
    "bilou": ["B-X I-X L-X U-Y O", "U-X B-X L-X O"],
}
FOUND = [[Entity(0, 3, "X"), Entity(3, 4, "Y")], [Entity(0, 1, "X"), Entity(1, 3, "X")]]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_sentence_has_the_same_entities_in_every_scheme(scheme):
    for tags, found in zip(SPELLED[scheme], FOUND, strict=True):
        assert read_entities(tags.split()) == found
        assert spell(found, len(tags.split()), scheme) == tags.split()


@st.composite
def sentences(draw):
    """Return entities one after the other, and a number of words that holds them."""
    found, end = [], 0
    for _ in range(draw(st.integers(0, 4))):
        start = end + draw(st.integers(0, 2))
        end = start + draw(st.integers(1, 3))
        found.append(Entity(start, end, draw(st.sampled_from(["X", "Y", "a-b"]))))
    return found, end + draw(st.integers(0, 2))


@given(sentences(), st.sampled_from(SCHEMES))
def test_what_is_spelled_is_read_again(sentence, scheme):
    found, length = sentence
    tags = spell(found, length, scheme)
    assert len(tags) == length
    assert read_entities(tags) == found


@given(sentences())
def test_tags_of_our_own_are_read_strictly(sentence):
    found, length = sentence
    assert entities(spell(found, length)) == found


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("I-X O I-X I-X", "B-X O B-X I-X"),  # what continues nothing begins
        ("B-X I-Y I-Y", "B-X B-Y I-Y"),  # so does another type
        ("B-X O I-X", "B-X O B-X"),
        ("E-X", "B-X"),
        ("B-X I-X O", "B-X I-X O"),  # never closed
        ("B-X S-X", "B-X B-X"),
        ("E-X I-X", "B-X B-X"),
        ("B-X E-X E-X", "B-X I-X B-X"),
        ("U-X L-X", "B-X B-X"),
        ("I-X B-X", "B-X B-X"),
        ("", ""),
    ],
)
def test_tags_that_break_their_scheme_are_read_as_what_they_continue_or_begin(tags, expected):
    assert spell(read_entities(tags.split()), len(tags.split())) == expected.split()
