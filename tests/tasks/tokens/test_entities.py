import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskline.tasks.tokens.entities import Matches, entities

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


def matches(*pairs):
    return Matches((gold.split(), predicted.split()) for gold, predicted in pairs)


def test_scores_by_hand():
    found = matches(
        ("B-X I-X O B-Y", "B-X I-X O B-Y"),  # both
        ("B-X I-X O", "B-X O O"),  # too short
        ("B-X I-X O", "B-X I-X I-X"),  # too long
        ("B-Y O B-X", "B-X O B-X"),  # another type, and one that is right
        ("O O", "B-Y O"),  # invented
        ("B-Y", "O"),  # missed
        ("", ""),
    )
    assert (found.gold, found.predicted, found.correct) == ({"X": 4, "Y": 3}, {"X": 5, "Y": 2}, {"X": 2, "Y": 1})
    assert found.scores(["X", "Y"]) == {"precision": 3 / 7, "recall": 3 / 7, "f1": 6 / 14}
    assert found.scores(["X"]) == {"precision": 2 / 5, "recall": 2 / 4, "f1": 4 / 9}
    assert found.scores(["Y"]) == {"precision": 1 / 2, "recall": 1 / 3, "f1": 2 / 5}


def test_the_tags_of_a_continuation_alone_are_no_prediction():
    found = matches(("B-X I-X", "I-X I-X"))
    assert found.scores(["X"]) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert not found.predicted


def test_adjacent_entities_are_two():
    assert matches(("B-X B-X", "B-X I-X")).scores(["X"]) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert matches(("B-X B-X", "B-X B-X")).gold == {"X": 2}


def test_the_same_place_in_another_sentence_is_another_entity():
    found = matches(("B-X O", "O B-X"), ("O B-X", "B-X O"))
    assert found.scores(["X"])["f1"] == 0.0


@pytest.mark.parametrize(
    ("gold", "predicted", "scores"),
    [
        ("O O", "O O", (0.0, 0.0, 0.0)),
        ("B-X O", "O O", (0.0, 0.0, 0.0)),
        ("O O", "B-X O", (0.0, 0.0, 0.0)),
        ("B-X O", "B-X B-X", (0.5, 1.0, 2 / 3)),
        ("B-X B-X", "B-X O", (1.0, 0.5, 2 / 3)),
    ],
)
def test_where_there_is_nothing_to_divide_by_a_score_is_nought(gold, predicted, scores):
    assert tuple(matches((gold, predicted)).scores(["X"]).values()) == scores


def test_without_sentences_every_score_is_nought():
    assert matches().scores(["X"]) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


def test_as_many_predictions_as_gold_tags_are_compared():
    assert matches(("O B-X I-X O B-Y O", "O B-X I-X O O O")).scores(["X", "Y"])["recall"] == 0.5
