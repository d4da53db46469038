"""Which task an update is of, and what the losses of several add up to."""

import numpy as np
import pytest
import torch

from maskline.multitask.objective import Mixture, MultitaskObjective, shares


def test_shares_go_with_size_to_a_power():
    sizes = {"a": 900, "b": 100}
    assert shares(sizes, 1.0) == pytest.approx({"a": 0.9, "b": 0.1})
    assert shares(sizes, 0.5) == pytest.approx({"a": 0.75, "b": 0.25})
    assert shares(sizes, 0.0) == {"a": 0.5, "b": 0.5}


def test_updates_are_drawn_by_their_shares_and_each_task_counts_its_own():
    drawn = Mixture([0.6, 0.1, 0.3], 3000, 1)
    found = drawn.updates(3000)
    assert sum(found) == 3000
    assert np.array(found) / 3000 == pytest.approx([0.6, 0.1, 0.3], abs=0.03)
    for task in range(3):
        numbers = [number for own, number in map(drawn.at, range(3000)) if own == task]
        assert numbers == list(range(found[task]))
    assert drawn.updates(7) == [sum(drawn.at(step)[0] == task for step in range(7)) for task in range(3)]


def test_what_an_update_is_of_depends_on_the_seed_and_its_number_alone():
    first, longer, other = Mixture([0.5, 0.5], 50, 3), Mixture([0.5, 0.5], 90, 3), Mixture([0.5, 0.5], 50, 4)
    assert [first.at(step) for step in range(50)] == [longer.at(step) for step in range(50)]
    assert first.tasks.tolist() != other.tasks.tolist()


class Part:
    """A task whose batch is a number of targets, each with a loss of `worth`."""

    def __init__(self, worth, scores):
        from tests.tasks.similarity.test_model import model

        self.model, self.worth, self.scores = model(), worth, scores
        self.task = self
        self.metrics, self.criterion, self.steps_per_epoch = {"f1": "F1"}, "f1", 4

    def microbatches(self, number):
        return [number + 1, number + 2]

    def examples(self, number):
        return [number]

    def targets(self, batch):
        return {"loss": batch, "tokens": 10 * batch}

    def losses(self, batch):
        return {"loss": torch.tensor(float(batch * self.worth))}

    def evaluate(self):
        return self.scores


@pytest.fixture(name="parts")
def _parts():
    return {"a": Part(3.0, {"loss": 1.0, "f1": 0.5}), "b": Part(0.5, {"loss": 2.0, "f1": 0.25})}


def objective(parts, **weights):
    drawn = Mixture([0.5, 0.5], 40, 0)
    return MultitaskObjective(parts, weights, drawn, torch.device("cpu")), drawn


def test_an_update_has_the_batches_of_its_task_and_their_weighted_loss(parts):
    made, drawn = objective(parts, b=4.0)
    for step in range(40):
        task, number = drawn.at(step)
        assert made.microbatches(step) == [(task, number + 1), (task, number + 2)]
        assert made.examples(step) == [number]
        name, other = (("a_loss", "b_loss"), ("b_loss", "a_loss"))[task]
        assert made.targets((task, 5)) == {name: 5, other: 0.0, "tokens": 50}
        losses = {key: loss.item() for key, loss in made.losses((task, 5)).items()}
        assert losses == {name: 15.0 if task == 0 else 10.0, other: 0.0}


def test_the_mean_of_the_scores_decides_and_every_loss_is_a_number(parts):
    made, _ = objective(parts)
    scores = made.evaluate()
    assert scores == {"score": 0.375, "a_loss": 1.0, "a_f1": 0.5, "b_loss": 2.0, "b_f1": 0.25}
    assert tuple(scores) == made.validation_columns[2:]
    assert made.criterion(scores) == -0.375
    assert made.criterion(scores | {"b_loss": None}) is None
    assert made.criterion(scores | {"score": None}) is None
    assert made.epochs(4) == 0.5


def test_the_encoder_is_there_once_and_training_mode_is_that_of_all(parts):
    made, _ = objective(parts)
    first, second = (part.model for part in parts.values())
    assert first.encoder is second.encoder is made.model.encoder
    names = [name for name in made.model.state_dict() if "token" in name and "type" not in name]
    assert len([name for name in names if name.endswith("embeddings.token.weight")]) == 1
    made.model.eval()
    assert not any(part.training for model in (first, second) for part in model.modules())
    made.model.train()
    assert all(part.training for model in (first, second) for part in model.modules())
