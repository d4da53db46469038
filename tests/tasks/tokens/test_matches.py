import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nervaluate.evaluator import Evaluator
from seqeval.metrics.v1 import precision_recall_fscore_support
from seqeval.scheme import IOB2

from maskline.tasks.tokens.entities import read_entities, spell
from maskline.tasks.tokens.matches import Matches

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


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


def test_looser_scores_by_hand():
    found = matches(
        ("B-X I-X O B-Y", "B-X I-X O B-X"),  # right; and right but for the type
        ("B-X I-X I-X O B-Y", "B-X I-X O O O"),  # too short; missed
        ("O O B-Y", "O B-X I-X"),  # too long and of another type
        ("O O", "O B-Y"),  # invented
    )
    # Gold 5, found 5; first and last word right: 2; two more overlap and count as half.
    assert found.scores(["X", "Y"])["f1"] == 2 * 1 / (5 + 5)
    assert found.lenient_scores() == {"exact_f1": pytest.approx(2 * 2 / 10), "partial_f1": pytest.approx(2 * 3 / 10)}


def test_an_entity_overlaps_with_one_other_alone():
    # The long one meets both of the short ones and is the half of one; the second found one is invented.
    assert matches(("B-X I-X I-X", "B-X B-X I-X")).lenient_scores()["partial_f1"] == pytest.approx(2 * 0.5 / 3)
    assert matches(("B-X B-X I-X", "B-X I-X I-X")).lenient_scores()["partial_f1"] == pytest.approx(2 * 0.5 / 3)


def test_without_entities_the_looser_scores_are_nought():
    assert matches(("O", "O")).lenient_scores() == matches().lenient_scores() == {"exact_f1": 0.0, "partial_f1": 0.0}


PAIRS = st.lists(
    st.integers(1, 8).flatmap(
        lambda length: st.tuples(*[st.lists(st.sampled_from(TAGS), min_size=length, max_size=length)] * 2)
    ),
    min_size=1,
    max_size=6,
)


@given(PAIRS)
def test_strict_scores_are_those_of_seqeval(pairs):
    gold, predicted = [list(side) for side in zip(*pairs, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of what it cannot divide by
        theirs = precision_recall_fscore_support(gold, predicted, average="micro", scheme=IOB2, zero_division=0)
    found = Matches(pairs)
    assert tuple(found.scores(["X", "Y"]).values()) == pytest.approx(theirs[:3])


@given(PAIRS)
def test_looser_scores_are_those_of_nervaluate(pairs):
    whole = [[spell(read_entities(tags), len(tags)) for tags in pair] for pair in pairs]  # it reads I-X as a beginning
    gold, predicted = [list(side) for side in zip(*whole, strict=True)]
    theirs = Evaluator(gold, predicted, tags=["X", "Y"], loader="list").evaluate()["overall"]
    found = Matches(whole)
    assert found.lenient_scores() == pytest.approx({f"{name}_f1": theirs[name].f1 for name in ("exact", "partial")})
    assert found.scores(["X", "Y"])["f1"] == pytest.approx(theirs["strict"].f1)
