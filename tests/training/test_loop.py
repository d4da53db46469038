import math
import os
import random
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from maskline.core.errors import UserError
from maskline.core.labels import IGNORE_INDEX
from maskline.model.heads import pretraining_losses
from maskline.training import loop
from maskline.training.inputs import to_inputs
from maskline.training.loop import Progress, _accumulate
from tests.tiny import tiny_params
from tests.training.runs import CPU, Objective, newest_state, run, run_in_parts, same


def params(**changes):
    changes = {key.replace("__", "."): value for key, value in changes.items()}
    return tiny_params({"model.dropout": 0.1} | changes).pretraining()


def test_one_batch_is_learned_by_heart(data):
    recipe = params(
        model__dropout=0.0, pretrain__optimizer="adamw", pretrain__peak_lr=0.02, pretrain__steps=150,
        pretrain__warmup_steps=5, pretrain__evaluate_every=150, pretrain__checkpoint_every=150,
    )  # fmt: skip
    objective = Objective(data, recipe)
    objective.microbatches = lambda _: Objective.microbatches(objective, 0)
    assert any((batch.next_sentence_label != IGNORE_INDEX).any() for batch in objective.microbatches(0))
    rows = run(objective, recipe, data.parent / "by-heart").progress.train
    assert rows[0]["mlm_loss"] > 3
    assert rows[-1]["mlm_loss"] < 0.02
    assert rows[-1]["nsp_loss"] < 0.02


@pytest.mark.parametrize(
    ("optimizer", "precision", "micro_batch", "global_batch"),
    [
        ("adamw", "fp32", 6, 6), ("adamw", "bf16", 4, 6), ("muon", "fp32", 2, 6), ("muon", "bf16", 6, 6),
        ("adamw", "fp32", 24, 24), ("muon", "bf16", 7, 24),  # five updates are an epoch
    ],
)  # fmt: skip
def test_an_interrupted_run_equals_an_uninterrupted_one_bit_for_bit(
    data, tmp_path, optimizer, precision, micro_batch, global_batch
):
    recipe = params(
        pretrain__optimizer=optimizer, pretrain__precision=precision, pretrain__micro_batch=micro_batch,
        pretrain__global_batch=global_batch, pretrain__steps=10, pretrain__log_every=1,
    )  # fmt: skip
    assert (Objective(data, recipe).epochs(5) == 1) == (global_batch == 24)
    whole = run(Objective(data, recipe), recipe, tmp_path / "whole")
    parts = run_in_parts(lambda stop: Objective(data, recipe, stop), recipe, tmp_path / "parts", 5)
    assert same(newest_state(tmp_path / "whole"), newest_state(tmp_path / "parts"))
    assert same(whole.best_weights, parts.best_weights)
    assert len(whole.progress.train) == 10
    assert whole.progress.train == parts.progress.train
    assert whole.progress.validation == parts.progress.validation


@pytest.fixture(name="threads")
def _threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_threads_change_the_rounding_and_nothing_else(data, tmp_path, threads):
    """As many threads give the same bits; another number gives the same curve within rounding."""
    recipe = params(model__hidden=128, model__intermediate=512, pretrain__log_every=1)
    states = []
    for number, count in enumerate((1, 2, 2)):
        threads(count)
        run(Objective(data, recipe), recipe, tmp_path / str(number))
        states.append(newest_state(tmp_path / str(number)))
    assert same(states[1], states[2])
    for row, expected in zip(states[1]["progress"]["train"], states[0]["progress"]["train"], strict=True):
        assert [*row.values()] == [value and pytest.approx(value, rel=1e-5) for value in expected.values()]


def test_a_run_may_be_interrupted_anywhere_and_often(data, tmp_path):
    per_epoch = Objective(data, params()).batches.order.batches_per_epoch
    recipe = params(pretrain__steps=per_epoch + 5, pretrain__checkpoint_every=4)
    run(Objective(data, recipe), recipe, tmp_path / "whole")
    stops = (1, 2, per_epoch - 1, per_epoch, per_epoch + 1, per_epoch + 4)
    run_in_parts(lambda stop: Objective(data, recipe, stop), recipe, tmp_path / "parts", *stops)
    assert same(newest_state(tmp_path / "whole"), newest_state(tmp_path / "parts"))


def test_an_interrupt_in_the_last_step_is_none_that_is_lost(data, tmp_path):
    """What runs the stage must not take the run for finished, and go on with the next one."""
    recipe = params()
    run(Objective(data, recipe), recipe, tmp_path / "whole")
    resumed = run_in_parts(lambda stop: Objective(data, recipe, stop), recipe, tmp_path / "parts", 12)
    assert resumed.progress.step == 12
    assert same(newest_state(tmp_path / "whole"), newest_state(tmp_path / "parts"))


def test_sigterm_is_an_interrupt_and_handlers_are_given_back(data, tmp_path):
    recipe = params()
    objective = Objective(data, recipe)
    former = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    microbatches = objective.microbatches

    def terminated(step):
        if step == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return microbatches(step)

    objective.microbatches = terminated
    with pytest.raises(UserError, match=r"^interrupted after step 5 of 12; run the same command to go on$"):
        run(objective, recipe, tmp_path)
    assert newest_state(tmp_path)["progress"]["step"] == 5
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == former


def gradients(objective, params, step=0):
    objective.model.zero_grad()
    targets, sums = _accumulate(objective, objective.microbatches(step), step, params.pretrain, params.seed)
    return {name: p.grad.clone() for name, p in objective.model.named_parameters()}, targets, sums


def test_a_step_has_the_same_gradient_however_it_is_cut(data):
    results = []
    for micro_batch in (16, 4, 1, 5):
        recipe = params(model__dropout=0.0, pretrain__global_batch=16, pretrain__micro_batch=micro_batch)
        objective = Objective(data, recipe)
        batches = objective.microbatches(0)
        assert len(batches) == -(-16 // micro_batch)
        results.append(gradients(objective, recipe))
    assert len({len(batch.masked_labels) for batch in objective.batches.microbatches(0, 0.15, 4)}) > 1
    whole, targets, sums = results[0]
    for part, part_targets, part_sums in results[1:]:
        assert part_targets == targets
        assert part_sums == pytest.approx(sums, rel=1e-5)
        for name, gradient in whole.items():
            torch.testing.assert_close(part[name], gradient, atol=1e-6, rtol=0)


def test_a_microbatch_without_a_labelled_pair_counts_for_the_words_alone(data):
    recipe = params(model__dropout=0.0, pretrain__global_batch=16, pretrain__micro_batch=16)
    objective = Objective(data, recipe)
    (batch,) = objective.microbatches(0)
    unlabelled = replace(batch, next_sentence_label=np.full_like(batch.next_sentence_label, IGNORE_INDEX))
    objective.microbatches = lambda _: [batch, unlabelled]
    both, targets, _ = gradients(objective, recipe)
    assert targets["nsp_loss"] == (batch.next_sentence_label != IGNORE_INDEX).sum() > 0
    objective.microbatches = lambda _: [batch]
    alone, _, _ = gradients(objective, recipe)
    for name, gradient in alone.items():  # the same words twice, divided by twice as many
        torch.testing.assert_close(both[name], gradient, atol=1e-6, rtol=0)
    objective.microbatches = lambda _: [unlabelled]
    none, targets, _ = gradients(objective, recipe)
    assert targets["nsp_loss"] == 0
    assert not none["nsp.weight"].any()
    assert none["mlm.transform.weight"].any()


@pytest.mark.parametrize("lost", ["mlm_loss", "nsp_loss"])
def test_each_loss_is_divided_by_its_own_targets(data, lost):
    recipe = params(model__dropout=0.0, pretrain__global_batch=16, pretrain__micro_batch=3)
    objective = Objective(data, recipe)
    losses = objective.losses
    objective.losses = lambda batch: {name: loss * (name != lost) for name, loss in losses(batch).items()}
    ours, targets, _ = gradients(objective, recipe)
    (batch,) = objective.batches.microbatches(0, 0.15, 16)
    objective.model.zero_grad()
    inputs = to_inputs(batch, CPU)
    mlm, nsp = pretraining_losses(*objective.model(inputs), inputs)
    pairs = int((batch.next_sentence_label != IGNORE_INDEX).sum())
    assert (targets["mlm_loss"], targets["nsp_loss"]) == (len(batch.masked_labels), pairs)
    (nsp / pairs if lost == "mlm_loss" else mlm / len(batch.masked_labels)).backward()
    for name, parameter in objective.model.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(ours[name], parameter.grad, atol=1e-6, rtol=0)


def test_the_curve_shows_the_losses_that_were_applied(data, tmp_path):
    recipe = params(pretrain__log_every=5, pretrain__steps=12)
    objective = Objective(data, recipe)
    losses, noted = objective.losses, []

    def note(batch):
        found = losses(batch)
        noted.append(({name: loss.item() for name, loss in found.items()}, objective.targets(batch)))
        return found

    objective.losses = note
    per_step = [len(objective.microbatches(step)) for step in range(12)]
    rows = run(objective, recipe, tmp_path).progress.train
    assert [row["step"] for row in rows] == [5, 10, 12]
    tokens = 0
    for row, steps in zip(rows, (per_step[:5], per_step[5:10], per_step[10:]), strict=True):
        part = [noted.pop(0) for _ in range(sum(steps))]
        tokens += sum(targets["tokens"] for _, targets in part)
        for name in ("mlm_loss", "nsp_loss"):
            expected = sum(loss[name] for loss, _ in part) / sum(targets[name] for _, targets in part)
            assert row[name] == pytest.approx(expected, rel=1e-6)
        assert row["loss"] == row["mlm_loss"] + row["nsp_loss"]
        assert row["tokens"] == tokens
        assert row["epoch"] == pytest.approx(objective.epochs(row["step"]), abs=1e-4)
    assert not noted


@pytest.mark.parametrize("clip", [1e9, 1e-3, None])
def test_the_gradient_is_clipped_and_its_norm_before_is_told(data, tmp_path, monkeypatch, clip):
    recipe = params(pretrain__clip_norm=clip, pretrain__steps=1, pretrain__warmup_steps=0, pretrain__optimizer="adamw")
    objective = Objective(data, recipe)
    real, applied = torch.optim.AdamW.step, []

    def step(optimizer):
        squares = [parameter.grad.square().sum().item() for parameter in objective.model.parameters()]
        applied.append(math.sqrt(sum(squares)))
        real(optimizer)

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    (row,) = run(objective, recipe, tmp_path).progress.train
    assert 0.1 < row["grad_norm"] < 1e9
    assert applied == [pytest.approx(min(row["grad_norm"], clip or math.inf), rel=1e-3)]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_no_number_stops_before_the_update(data, tmp_path, bad):
    recipe = params(pretrain__checkpoint_every=2)
    objective = Objective(data, recipe)
    microbatches, weights = objective.microbatches, []

    def noted(step):
        weights.append({name: tensor.clone() for name, tensor in objective.model.state_dict().items()})
        return microbatches(step)

    objective.microbatches = noted
    # Reached by the last backward pass of update 7 alone, whose losses are as they should be.
    objective.model.nsp.bias.register_hook(lambda gradient: gradient * bad if len(weights) == 7 else gradient)
    with pytest.raises(UserError, match=r"^step 7 is not finite \(mlm_loss \d") as error:
        run(objective, recipe, tmp_path)
    named = ", ".join(map(str, objective.examples(6)))
    assert f"examples {named}): nothing was updated or saved" in str(error.value)
    assert same(dict(objective.model.state_dict()), weights[6])
    state = newest_state(tmp_path)
    assert state["progress"]["step"] == 6
    assert same(state["weights"], weights[6])
    # The fault is gone: it goes on, and nothing of it is left.
    run(Objective(data, recipe), recipe, tmp_path)
    run(Objective(data, recipe), recipe, tmp_path / "whole")
    assert same(newest_state(tmp_path / "whole"), newest_state(tmp_path))


def test_a_loss_that_is_no_number_stops_too(data, tmp_path):
    recipe = params()
    objective = Objective(data, recipe)
    losses = objective.losses
    objective.losses = lambda batch: {name: loss + math.nan for name, loss in losses(batch).items()}
    with pytest.raises(UserError, match=r"step 1 is not finite \(mlm_loss nan, nsp_loss nan, gradient norm"):
        run(objective, recipe, tmp_path)
    assert not list(tmp_path.glob("*/state-*"))


class Scored(Objective):
    """Scores that are given, one for each evaluation."""

    def __init__(self, data, params, scores, interrupt_at=None):
        super().__init__(data, params, interrupt_at)
        self.scores = iter(scores)
        self.weights = []

    def evaluate(self):
        self.weights.append({name: tensor.clone() for name, tensor in self.model.state_dict().items()})
        return {"mlm_loss": 1.0, "loss": next(self.scores)}


def test_the_best_weights_are_those_of_the_lowest_score_ever(data, tmp_path):
    recipe = params(pretrain__steps=6, pretrain__evaluate_every=1)
    first = Scored(data, recipe, [3.0, 2.0, 2.5], interrupt_at=3)
    with pytest.raises(UserError, match="interrupted after step 3"):
        run(first, recipe, tmp_path)
    result = run(Scored(data, recipe, [2.4, 2.3, math.nan]), recipe, tmp_path)
    assert (result.progress.best, result.progress.best_step) == (2.0, 2)
    assert same(result.best_weights, first.weights[1])
    assert [row["loss"] for row in result.progress.validation] == [3.0, 2.0, 2.5, 2.4, 2.3, None]
    assert result.progress.best_row()["step"] == 2


def test_of_equal_scores_the_first_is_best(data, tmp_path):
    recipe = params(pretrain__steps=4, pretrain__evaluate_every=1)
    result = run(Scored(data, recipe, [math.nan, 2.0, math.inf, 2.0]), recipe, tmp_path)
    assert result.progress.best_step == 2


def test_a_run_without_any_finite_score_says_so(data, tmp_path):
    recipe = params(pretrain__steps=4, pretrain__evaluate_every=2)
    result = run(Scored(data, recipe, [math.nan, math.inf]), recipe, tmp_path)
    with pytest.raises(UserError, match="no score on the validation set was finite: lower the learning rate"):
        result.progress.best_row()


def test_things_happen_on_their_cadence_and_at_the_end(data, tmp_path, monkeypatch):
    recipe = params(pretrain__steps=11, pretrain__evaluate_every=4, pretrain__checkpoint_every=3, pretrain__log_every=5)
    saved = []
    real = loop.ResumableRun.save
    monkeypatch.setattr(
        loop.ResumableRun, "save", lambda self, step, state: (saved.append(step), real(self, step, state))
    )
    progress = run(Objective(data, recipe), recipe, tmp_path).progress
    assert [row["step"] for row in progress.train] == [5, 10, 11]
    assert [row["step"] for row in progress.validation] == [4, 8, 11]
    assert saved == [3, 6, 9, 11]
    assert sorted(path.name for path in tmp_path.glob("*/*.pt")) == ["state-00000009.pt", "state-00000011.pt"]


def test_the_learning_rate_goes_on_where_it_was(data, tmp_path):
    recipe = params(pretrain__log_every=1, pretrain__warmup_steps=4)
    rows = run_in_parts(lambda stop: Objective(data, recipe, stop), recipe, tmp_path, 3, 7).progress.train
    peak = recipe.pretrain.peak_lr
    expected = [peak * (step + 1) / 4 for step in range(4)] + [peak * (12 - step) / 8 for step in range(4, 12)]
    assert [row["lr"] for row in rows] == pytest.approx(expected)


def test_a_warm_up_that_takes_the_whole_run_is_refused(data, tmp_path):
    recipe = params(pretrain__steps=4, pretrain__warmup_steps=3)
    recipe = recipe.model_copy(update={"pretrain": recipe.pretrain.model_copy(update={"warmup_steps": 4})})
    with pytest.raises(UserError, match="warmup_steps 4 leaves nothing of 4 steps"):
        run(Objective(data, recipe), recipe, tmp_path)


def generators():
    numpy_state = np.random.get_state(legacy=False)["state"]
    return random.getstate(), numpy_state["key"].tolist(), numpy_state["pos"], torch.get_rng_state().tolist()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_global_generators_neither_matter_nor_change(data, tmp_path, precision):
    recipe = params(pretrain__precision=precision)
    objective = Objective(data, recipe)
    before = generators()
    run(objective, recipe, tmp_path / "first")
    assert generators() == before
    objective = Objective(data, recipe)
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    run(objective, recipe, tmp_path / "second")
    assert same(newest_state(tmp_path / "first"), newest_state(tmp_path / "second"))


def test_evaluating_more_often_changes_no_weight(data, tmp_path):
    states = []
    for every in (1, 12):
        recipe = params(pretrain__evaluate_every=every)
        run(Objective(data, recipe), recipe, tmp_path / str(every))
        states.append(newest_state(tmp_path / str(every)))
    assert same(states[0]["weights"], states[1]["weights"])
    assert same(states[0]["optimizers"], states[1]["optimizers"])


def test_another_seed_gives_other_numbers(data, tmp_path):
    states = []
    for seed in (0, 1):
        recipe = params(seed=seed)
        run(Objective(data, recipe), recipe, tmp_path / str(seed))
        states.append(newest_state(tmp_path / str(seed)))
    for name, tensor in states[0]["weights"].items():
        assert not torch.equal(tensor, states[1]["weights"][name]), name


def test_dropout_differs_between_steps_and_microbatches(data):
    recipe = params(model__dropout=0.5, pretrain__global_batch=4, pretrain__micro_batch=2)
    objective = Objective(data, recipe)
    (batch, *_) = objective.microbatches(0)
    seen = []
    objective.microbatches = lambda _: [batch, batch]
    losses = objective.losses
    objective.losses = lambda microbatch: (seen.append(losses(microbatch)), seen[-1])[1]
    for step in (0, 1, 0):
        _accumulate(objective, objective.microbatches(step), step, recipe.pretrain, recipe.seed)
    values = [loss["mlm_loss"].item() for loss in seen]
    assert len(set(values[:4])) == 4
    assert values[4:] == values[:2]


def test_both_precisions_learn_alike(data, tmp_path):
    losses = []
    for precision in ("fp32", "bf16"):
        recipe = params(pretrain__precision=precision, pretrain__steps=50, pretrain__log_every=10, model__dropout=0.0)
        losses.append(run(Objective(data, recipe), recipe, tmp_path / precision).progress.validation[-1]["loss"])
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert losses[0] != losses[1]


class Weighted:
    """One number to learn from examples whose weights may add up to less than one."""

    loss_names = ("loss",)
    device = CPU

    def __init__(self, weights):
        self.model = nn.Linear(1, 1, bias=False)
        self.weights = weights

    def epochs(self, step):
        return step

    def scheduled(self, _):
        return {}

    def microbatches(self, _):
        return self.weights

    def targets(self, weight):
        return {"loss": weight, "tokens": 1}

    def losses(self, weight):
        return {"loss": 3.0 * weight * self.model.weight.sum()}


@pytest.mark.parametrize("weights", [[0.25], [0.25, 0.5], [2.0, 0.5], [0.0]])
def test_weights_are_divided_out_however_small_their_sum(weights):
    objective = Weighted(weights)
    recipe = params().pretrain
    targets, sums = _accumulate(objective, objective.microbatches(0), 0, recipe, 0)
    assert objective.model.weight.grad.item() == pytest.approx(3.0 * (sum(weights) > 0))
    progress = Progress()
    progress.count(targets, sums, 1.0)
    progress.close_row(0.1, objective)
    value = objective.model.weight.item()
    assert progress.train[0]["loss"] == pytest.approx(3.0 * value * (sum(weights) > 0))


def test_the_learning_rate_that_is_told_is_the_one_that_is_applied(data, tmp_path, monkeypatch):
    recipe = params(pretrain__optimizer="adamw", pretrain__log_every=1, pretrain__warmup_steps=4)
    real, applied = torch.optim.AdamW.step, []

    def step(optimizer):
        applied.append(max(group["lr"] for group in optimizer.param_groups))
        real(optimizer)

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    rows = run(Objective(data, recipe), recipe, tmp_path).progress.train
    assert applied == [row["lr"] for row in rows]
    assert len(set(applied)) > 6
