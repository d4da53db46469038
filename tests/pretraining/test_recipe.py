"""What changes while a run goes on: each a function of the update, so that an interruption changes nothing."""

import numpy as np
import pytest

from maskline.core.errors import UserError
from tests.tiny import tiny_params
from tests.training.runs import Objective, newest_state, run, run_in_parts, same


def params(**changes):
    changes = {key.replace("__", "."): value for key, value in changes.items()}
    return tiny_params({"model.dropout": 0.1} | changes).pretraining()


def same_in_parts(data, recipe, tmp_path, *stops):
    run(Objective(data, recipe), recipe, tmp_path / "whole")
    run_in_parts(lambda stop: Objective(data, recipe, stop), recipe, tmp_path / "parts", *stops)
    return same(newest_state(tmp_path / "whole"), newest_state(tmp_path / "parts"))


def masked(objective, step):
    """Return for every example of a step its ordinary tokens, and how many of them are to be predicted."""
    counts = []
    for batch in objective.microbatches(step):
        ids = batch.input_ids.copy()
        ids.ravel()[batch.masked_positions] = batch.masked_labels
        picked = np.bincount(batch.masked_positions // ids.shape[1], minlength=len(ids))
        counts += zip((ids >= 5).sum(1).tolist(), picked.tolist(), strict=True)
    return counts


@pytest.mark.parametrize(("start", "end"), [(0.6, 0.2), (0.1, 0.9)])
def test_the_masking_rate_moves_in_a_straight_line_over_the_run(data, start, end):
    recipe = params(masking__rate=start, masking__final_rate=end)
    objective = Objective(data, recipe)
    for step in range(12):
        rate = start + (end - start) * step / 11
        assert recipe.masking.rate_at(step, 12) == pytest.approx(rate)
        assert [count for _, count in masked(objective, step)] == [
            max(1, int(size * rate + 0.5)) for size, _ in masked(objective, step)
        ]
    assert recipe.masking.rate_at(0, 1) == start


def test_without_a_final_rate_the_rate_stays(data):
    constant, level = params(masking__rate=0.3), params(masking__rate=0.3, masking__final_rate=0.3)
    assert {constant.masking.rate_at(step, 12) for step in range(12)} == {0.3}
    for step in range(12):
        for one, other in zip(Objective(data, constant).microbatches(step), Objective(data, level).microbatches(step),
                              strict=True):  # fmt: skip
            assert (one.input_ids == other.input_ids).all()


def test_the_masking_rate_follows_a_run_that_is_counted_in_epochs(data):
    recipe = params(masking__rate=0.9, masking__final_rate=0.1, pretrain__steps=None, pretrain__epochs=2)
    objective = Objective(data, recipe)
    assert objective.steps == 2 * objective.batches.order.batches_per_epoch
    sizes, counts = zip(*masked(objective, objective.steps - 1), strict=True)
    assert list(counts) == [max(1, int(size * 0.1 + 0.5)) for size in sizes]


def test_a_run_with_a_falling_masking_rate_may_be_interrupted(data, tmp_path):
    assert same_in_parts(data, params(masking__rate=0.5, masking__final_rate=0.1), tmp_path, 1, 7)


RAMP = {"pretrain__global_batch": 12, "pretrain__initial_batch": 3, "pretrain__ramp_steps": 8}


def test_the_batch_grows_and_the_curve_counts_what_was_seen(data, tmp_path):
    recipe = params(**RAMP, pretrain__log_every=1)
    objective = Objective(data, recipe)
    parts = [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 4]
    sizes = [len(objective.examples(step)) for step in range(12)]
    assert all(3 * count - 2 <= size <= 3 * count for size, count in zip(sizes, parts, strict=True))  # an epoch's last
    rows = run(objective, recipe, tmp_path).progress.train
    seen = np.cumsum(parts) / objective.batches.order.batches_per_epoch
    assert [row["epoch"] for row in rows] == pytest.approx(seen, abs=1e-4)
    tokens = [sum(batch.tokens for batch in objective.microbatches(step)) for step in range(12)]
    assert [row["tokens"] for row in rows] == np.cumsum(tokens).tolist()


@pytest.mark.parametrize("micro_batch", [12, 2])
def test_a_run_with_a_growing_batch_may_be_interrupted(data, tmp_path, micro_batch):
    assert same_in_parts(data, params(**RAMP, pretrain__micro_batch=micro_batch), tmp_path, 2, 7, 8)


LENGTHS = {"pretrain__final_seq_length": 32, "pretrain__log_every": 1}


@pytest.mark.parametrize("changes", [{}, RAMP, {"pretrain__final_seq_length": 32, "pretrain__final_share": 0.5}])
def test_once_an_epoch_is_at_the_end_of_each(data, tmp_path, changes):
    steps = 70
    recipe = params(**changes, pretrain__steps=steps, pretrain__evaluate_every=None, pretrain__log_every=None)
    objective = Objective(data, recipe)
    ends = [step for step in range(1, steps) if int(objective.epochs(step)) > int(objective.epochs(step - 1))]
    assert len(ends) >= 3
    for number, step in enumerate(ends, 1):
        assert objective.epochs(step - 1) < number <= objective.epochs(step)
    whole = run(objective, recipe, tmp_path / "whole")
    assert [row["step"] for row in whole.progress.train] == [*ends, steps]
    assert [row["step"] for row in whole.progress.validation] == [*ends, steps]
    stops = ends[0], ends[1] - 1
    parts = run_in_parts(lambda stop: Objective(data, recipe, stop), recipe, tmp_path / "parts", *stops)
    assert parts.progress.train == whole.progress.train
    assert parts.progress.validation == whole.progress.validation


@pytest.mark.parametrize("switch", [1, 6, 11])
@pytest.mark.parametrize("nsp", [True, False])
def test_a_run_of_two_lengths_may_be_interrupted_around_the_switch(data, tmp_path, switch, nsp):
    recipe = params(**LENGTHS, pretrain__final_share=1 - switch / 12, pretrain__nsp=nsp)
    assert Objective(data, recipe).batches.switch == switch
    assert same_in_parts(data, recipe, tmp_path, *sorted({max(1, switch - 2), switch, min(11, switch + 2)}))


@pytest.mark.parametrize("loaders", [1, 2])
def test_a_run_of_two_lengths_is_the_same_however_many_processes_prepare_it(data, tmp_path, loaders):
    recipe = params(**LENGTHS, pretrain__final_share=0.4)
    alone = run(Objective(data, recipe), recipe, tmp_path / "alone")
    ahead = run(Objective(data, recipe), recipe, tmp_path / "ahead", loaders=loaders)
    assert ahead.progress.train == alone.progress.train
    assert same(newest_state(tmp_path / "ahead"), newest_state(tmp_path / "alone"))
    assert len({row["tokens"] for row in alone.progress.train}) == 12


@pytest.mark.parametrize("stop", [5, 7, 9])
def test_a_run_of_two_lengths_goes_on_with_another_number_of_processes(data, tmp_path, stop):
    recipe = params(**LENGTHS, pretrain__final_share=0.4)
    run(Objective(data, recipe), recipe, tmp_path / "whole", loaders=2)
    with pytest.raises(UserError, match=f"interrupted after step {stop} of"):
        run(Objective(data, recipe, interrupt_at=stop), recipe, tmp_path / "parts")
    run(Objective(data, recipe), recipe, tmp_path / "parts", loaders=1)
    assert same(newest_state(tmp_path / "parts"), newest_state(tmp_path / "whole"))


def test_before_the_switch_nothing_tells_that_there_will_be_one(data):
    plain, lengthens = params(), params(**LENGTHS, pretrain__final_share=0.25)
    for step in range(9):
        ours, others = (Objective(data, recipe).microbatches(step) for recipe in (lengthens, plain))
        for one, other in zip(ours, others, strict=True):
            assert (one.input_ids == other.input_ids).all()
            assert (one.masked_positions == other.masked_positions).all()


def test_both_lengths_grow_their_batches_once(data):
    recipe = params(**RAMP, pretrain__final_seq_length=32, pretrain__final_share=0.25)
    objective = Objective(data, recipe)
    sizes = [len(objective.examples(step)) for step in range(12)]
    assert sizes[0] == 3
    assert sizes[8:] == [12] * 4


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"pretrain__final_share": 0.01}, "final_share 0.01 of {} steps is none of them: raise it, or train longer"),
        ({"pretrain__final_share": 0.99}, "final_share 0.99 of {} steps is all of them: lower it, or train longer"),
        (
            RAMP | {"pretrain__final_share": 0.5, "pretrain__ramp_steps": 10},
            "ramp_steps 10 ends after the {half} updates before final_seq_length: lower it",
        ),
    ],
)
def test_lengths_that_do_not_fit_a_run_that_is_counted_in_epochs_are_told(data, tmp_path, changes, expected):
    recipe = params(pretrain__final_seq_length=32, **changes, pretrain__steps=None, pretrain__epochs=1)
    objective = Objective(data, recipe)
    half = objective.steps - round(objective.steps / 2)
    assert recipe.pretrain.schedule_error(objective.steps) == expected.format(objective.steps, half=half)


def test_a_ramp_longer_than_a_run_that_is_counted_in_epochs_is_told(data, tmp_path):
    recipe = params(**RAMP | {"pretrain__ramp_steps": 500}, pretrain__steps=None, pretrain__epochs=1)
    objective = Objective(data, recipe)
    assert recipe.pretrain.schedule_error(objective.steps) == (
        f"ramp_steps 500 leaves nothing of {objective.steps} steps: lower it, or train longer"
    )
