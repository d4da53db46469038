import math

import numpy as np
import pytest
import torch

from maskline.core.errors import UserError
from maskline.tasks.similarity.pairs import NONE
from maskline.tasks.similarity.task import _scored, make_task
from maskline.tokenization.load import load_tokenizer
from tests.tasks.similarity.scored import CONTRASTIVE, POSITIVES, columns, recipe
from tests.tasks.similarity.test_model import model
from tests.tiny import write_tokenizer

CPU = torch.device("cpu")
SCORED = {"score_range": [1, 5]}
COSINE = make_task(recipe(), SCORED)
AMONG = make_task(recipe(CONTRASTIVE), SCORED)
FINDING = make_task(recipe(POSITIVES), {"score_range": None})
PAIRS = columns(("w5 w6", "w7", 5), ("w8", "w9 w10 w11", 1), ("w7", "w7", 4), ("w12", "w13", 3))
TRIPLES = columns(
    ("w5", "w6", None), ("w7", "w8", "w9"), ("w5", "w8", "w6"), names=("sentence1", "sentence2", "negative")
)


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return load_tokenizer(write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer"))


def test_the_objective_on_scores_trains_on_all_pairs(tokenizer):
    encoded = COSINE.encode(PAIRS, tokenizer, 12)
    assert encoded.sizes.tolist() == [7, 8, 6, 6]
    assert [row.tolist() for row in encoded.texts.input_ids][:3] == [[2, 5, 6, 3], [2, 8, 3], [2, 7, 3]]
    batch = COSINE.batch(encoded, np.array([2, 0]))
    assert batch.texts.input_ids.tolist() == [2, 5, 6, 3, 2, 7, 3]  # each text once
    assert (batch.questions.tolist(), batch.answers.tolist()) == ([1, 0], [1, 1])
    assert batch.targets.tolist() == [0.75, 1]  # of scores from 1 to 5
    assert batch.among is None
    assert COSINE.targets(batch) == {"loss": 2, "tokens": 7}


def test_the_loss_on_scores_is_the_squared_distance_of_the_cosine(tokenizer):
    encoded, made = COSINE.encode(PAIRS, tokenizer, 12), model()
    vectors = COSINE.predict(made, encoded, CPU)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    first, second = (vectors[encoded.pairs.rows[:, side]] for side in (0, 1))
    expected = ((first * second).sum(1) - np.array([1, 0, 0.75, 0.5])) ** 2
    for rows in ([0, 1, 2, 3], [3, 1], [2]):
        loss = COSINE.loss(made, COSINE.batch(encoded, np.array(rows)), CPU)
        assert loss.item() == pytest.approx(expected[rows].sum(), abs=1e-5)
    assert COSINE.scores(encoded, vectors)["loss"] == pytest.approx(expected.mean(), abs=1e-5)


def test_the_contrastive_objective_trains_on_pairs_with_a_high_score(tokenizer):
    encoded = AMONG.encode(PAIRS, tokenizer, 12)
    assert encoded.trained.tolist() == [0, 2]
    assert encoded.sizes.tolist() == [7, 6]
    batch = AMONG.batch(encoded, np.array([1]))
    assert batch.texts.input_ids.tolist() == [2, 7, 3]
    assert AMONG.criterion == "spearman"
    scores = AMONG.scores(encoded, AMONG.predict(model(), encoded, CPU))
    assert scores.keys() == {"loss", "spearman", "pearson"}  # correlations are of all pairs
    with pytest.raises(UserError, match=r"a score of finetune\.positive_from 4 or more: lower it"):
        AMONG.encode(columns(("w5", "w6", 3.9)), tokenizer, 12)


def test_a_batch_offers_what_belongs_to_no_other_text(tokenizer):
    encoded = FINDING.encode(TRIPLES, tokenizer, 12)
    batch = FINDING.batch(encoded, np.array([0, 1, 2]))
    ids = batch.texts.input_ids[batch.texts.input_ids > 3].tolist()
    assert sorted(ids) == [5, 6, 7, 8, 9]
    there, back = ([{ids[place] for place in np.flatnonzero(row)} for row in mask] for mask in batch.among)
    assert there == [{6, 9}, {6, 8, 9}, {8, 9}]  # 6 belongs to 5 through the first pair, though it is a negative
    assert back == [{5, 7}, {7}, {5}]  # 8 has two
    assert NONE not in batch.answers


def test_the_contrastive_loss_is_the_mean_of_both_ways(tokenizer):
    """Vectors are given by hand: all cosines are 0 but that of w7 and w9, 1, so that 9 stands before 8."""
    encoded = FINDING.encode(TRIPLES, tokenizer, 12)
    names = [text.removeprefix("w") for text in encoded.pairs.spelled]
    vectors = np.stack([np.eye(9, dtype=np.float32)[7 - 5 if name == "9" else int(name) - 5] for name in names])
    one, scale = FINDING.recipe.temperature, 1 / FINDING.recipe.temperature
    assert one == 0.05
    there = [math.log(2), math.log(math.exp(scale) + 2), math.log(2)]
    back = [math.log(2), 0, 0]
    found = FINDING.scores(encoded, vectors)
    assert found["loss"] == pytest.approx((sum(there) + sum(back)) / 2 / 3, rel=1e-5)
    # Of texts that are as near, all stand before the right one: 6 and 9; 6, 8 and 9; 8 and 9.
    assert found["mrr"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 2) / 3)
    assert found["accuracy_at_1"] == 0


def test_a_batch_of_one_pair_has_a_loss(tokenizer):
    made = model()
    for task, pairs in ((COSINE, PAIRS), (AMONG, PAIRS), (FINDING, TRIPLES)):
        encoded = task.encode(pairs, tokenizer, 12)
        loss = task.loss(made, task.batch(encoded, np.array([0])), CPU)
        loss.backward()
        assert math.isfinite(loss.item())
        assert all(weight.grad is None or weight.grad.isfinite().all() for weight in made.parameters())


def test_equal_cosines_have_no_correlation(tokenizer):
    encoded = COSINE.encode(PAIRS, tokenizer, 12)
    same = np.tile(np.eye(4, dtype=np.float32)[:1], (len(encoded.pairs.spelled), 1))
    scores = COSINE.scores(encoded, same)
    assert math.isnan(scores["spearman"])
    assert scores["loss"] == pytest.approx((0 + 1 + 0.25**2 + 0.5**2) / 4)
    details = COSINE.details(PAIRS, encoded, same)
    assert details.warnings == ["every test pair has the cosine 1: nothing is ranked, and there is no correlation"]
    assert math.isnan(details.intervals["spearman"][0])


def test_details_show_cosines_beside_scores(tokenizer):
    encoded = COSINE.encode(PAIRS, tokenizer, 12)
    angles = dict(
        zip(("w5 w6", "w7", "w8", "w9 w10 w11", "w12", "w13"), np.deg2rad([0, 60, 0, 90, 0, 45]), strict=True)
    )
    turned = np.array([angles[text] for text in encoded.pairs.spelled])
    details = COSINE.details(PAIRS, encoded, np.stack([np.cos(turned), np.sin(turned)], 1).astype(np.float32))
    assert [*details.tables["pairs.csv"].rows] == [
        {"score": 5.0, "cosine": 0.5},
        {"score": 1.0, "cosine": 0.0},
        {"score": 4.0, "cosine": 1.0},
        {"score": 3.0, "cosine": 0.707107},
    ]
    by_band = details.tables["bands.csv"].rows
    assert [(row["from"], row["pairs"]) for row in by_band] == [
        (1, 1),
        (pytest.approx(2.6), 1),
        (pytest.approx(3.4), 1),
        (4.2, 1),
    ]
    assert [row["mean_cosine"] for row in by_band] == [0, 0.707107, 1, 0.5]
    (figure,) = details.figures
    assert (figure.shape, figure.table, figure.y, figure.value) == ("scatter", "pairs.csv", "score", "cosine")
    assert [(case.gold, case.predicted, case.text) for case in details.cases] == [
        ("5", "0.500", "w5 w6 ‖ w7"),
        ("1", "0.000", "w8 ‖ w9 w10 w11"),
        ("4", "1.000", "w7 ‖ w7"),
        ("3", "0.707", "w12 ‖ w13"),
    ]
    # The scores have the ranks 4, 1, 3, 2, the cosines 2, 1, 4, 3; a tenth of the split is what passes.
    assert [case.error for case in details.cases] == [0.5, 0, 0.25, 0.25]


def test_a_rank_that_is_nearly_that_of_the_score_passes_for_right():
    gold = np.arange(20) / 4
    found = gold[[1, 0, 2, 3, 7, 5, 6, 4, *range(8, 20)]] / 10  # neighbours, and two that are three ranks apart
    details = _scored(gold, found, [""] * 20, [0, 5])
    assert [case.error for case in details.cases] == [*[0] * 4, 0.15, 0, 0, 0.15, *[0] * 12]


def test_details_of_pairs_without_scores_show_places(tokenizer):
    encoded = FINDING.encode(TRIPLES, tokenizer, 12)
    same = np.tile(np.eye(4, dtype=np.float32)[:1], (len(encoded.pairs.spelled), 1))
    details = FINDING.details(TRIPLES, encoded, same)
    assert [(case.gold, case.predicted, case.error) for case in details.cases] == [
        ("rank 1", "rank 2", 0.5),
        ("rank 1", "rank 3", pytest.approx(2 / 3)),
        ("rank 1", "rank 2", 0.5),
    ]
    assert details.intervals.keys() == {"mrr", "accuracy_at_1"}
    assert not details.figures


def test_the_scores_are_those_of_the_data():
    assert (COSINE.criterion, [*COSINE.metrics]) == ("spearman", ["spearman", "pearson"])
    assert (FINDING.criterion, [*FINDING.metrics]) == ("mrr", ["mrr", "accuracy_at_1"])
