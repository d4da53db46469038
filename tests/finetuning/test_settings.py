import pytest

from tests.tiny import tiny_params


def recipe(**changes):
    return tiny_params({f"finetune.{key}": value for key, value in changes.items()}).finetune


@pytest.mark.parametrize(
    ("epochs", "min_steps", "per_epoch", "steps", "every"),
    [
        (2, None, 7, 14, 7),
        (2, 14, 7, 14, 7),
        (2, 15, 7, 21, 7),  # whole epochs, scored after each of three rather than after one and a half
        (2, 150, 1, 150, 75),
        (3, 150, 7, 154, 49),  # 22 epochs, scored after 7, 14, 21 and the last
        (1, 150, 7, 154, 154),
        (4, 1, 7, 28, 7),
    ],
)
def test_epochs_are_added_until_there_are_updates_enough(epochs, min_steps, per_epoch, steps, every):
    chosen = recipe(epochs=epochs, min_steps=min_steps)
    assert chosen.total_steps(lambda count: count * per_epoch) == steps
    assert chosen.evaluate_every(lambda count: count * per_epoch) == every


def test_a_run_of_steps_has_as_many_as_it_says():
    chosen = recipe(epochs=None, steps=5, min_steps=150)
    assert chosen.total_steps(lambda count: count * 7) == 5
    assert chosen.evaluate_every(lambda count: count * 7) == 7
