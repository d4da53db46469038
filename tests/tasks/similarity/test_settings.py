import pytest

from maskline.core.errors import UserError
from tests.tasks.similarity.scored import CONTRASTIVE, POSITIVES, params


def test_the_settings_of_the_benchmark_are_in_order():
    chosen = params({"pairs:dataset.source": "hub"}).task("pairs")
    assert chosen.dataset.score_range == (0, 5)
    assert chosen.finetune.objective == "cosine"


@pytest.mark.parametrize("changes", [CONTRASTIVE, POSITIVES, POSITIVES | {"pairs:finetune.positive_from": None}])
def test_what_goes_together_is_taken(changes):
    assert params(changes).task("pairs").finetune.objective == "contrastive"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs:dataset.columns": ["a", "b", "a"]}, "columns must differ"),
        ({"pairs:dataset.columns": ["sentence1", "score"]}, "columns has no sentence2: add it, or give null"),
        ({"pairs:dataset.second_column": "sentence1"}, "sentence1, sentence1, score: give each"),
        ({"pairs:dataset.score_range": [5, 5]}, "the lowest score and then the highest"),
        ({"pairs:dataset.score_range": [5]}, r"score_range"),
        ({"pairs:dataset.score_column": None}, "score_column is null: finetune.objective cosine needs scores"),
        ({"pairs:dataset.negative_column": "worse"}, "cosine knows no dataset.negative_column"),
        (CONTRASTIVE | {"pairs:finetune.positive_from": None}, "give finetune.positive_from, above 0 and up to 5"),
        (CONTRASTIVE | {"pairs:finetune.positive_from": 5.5}, "give finetune.positive_from, above 0 and up to 5"),
        (CONTRASTIVE | {"pairs:finetune.positive_from": 0.0}, "give finetune.positive_from, above 0 and up to 5"),
        (CONTRASTIVE | {"finetune.micro_batch": 4}, "micro_batch 4 must be global_batch 5"),
        ({"pairs:finetune.temperature": 0}, "temperature"),
        ({"pairs:finetune.objective": "triplet"}, "objective"),
    ],
)
def test_what_does_not_go_together_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        params(changes)
