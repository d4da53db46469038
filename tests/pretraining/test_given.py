"""What a run is given: which seed, cadence, masks and precision reach the loop, and what is told of what it leaves."""

import shutil
from types import SimpleNamespace

import pytest
import torch

from maskline.core.errors import UserError
from maskline.core.labels import IGNORE_INDEX
from maskline.core.storage import write_manifest
from maskline.pretraining import run as pretraining_run
from maskline.pretraining.objective import PretrainingObjective
from maskline.pretraining.run import _identity, pretrain
from maskline.tokenization.load import load_tokenizer
from maskline.training import devices
from maskline.training.loop import Cadence
from tests.tiny import tiny_params
from tests.training.runs import CPU, pretraining_paths


@pytest.fixture(name="mine")
def _mine(data, tmp_path, monkeypatch):
    """Return a copy of the data in the current folder, where `.runs` goes."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(data, tmp_path / "data")


@pytest.fixture(name="given")
def _given(mine, monkeypatch):
    """Return a function that begins a run; it gives what the loop was given."""

    def given(changes=None):
        found = SimpleNamespace()

        def train(objective, recipe, steps, cadence, seed, run, reporter, loaders=0):
            vars(found).update(locals())
            raise UserError("begun")

        monkeypatch.setattr(pretraining_run, "train", train)
        with pytest.raises(UserError, match="begun"):
            pretrain(tiny_params(changes).pretraining(), pretraining_paths(mine), CPU)
        return found

    return given


def test_the_seed_is_that_of_the_order_and_of_dropout(given):
    found = given({"seed": 7, "premask.seed": 3})
    assert found.seed == found.objective.batches.seed == found.objective.batches.order.seed == 7


def test_what_comes_how_often_is_what_the_recipe_says(given):
    changes = {"pretrain.evaluate_every": 6, "pretrain.checkpoint_every": 4, "pretrain.log_every": 3}
    found = given(changes | {"compute.loaders": 2})
    assert found.cadence == Cadence(evaluate=6, checkpoint=4, log=3)
    assert (found.steps, found.loaders) == (12, 2)


def test_whole_words_are_masked_where_that_is_said(given, mine):
    plain, whole = (given({"masking.whole_word": value, "masking.mask": 0.7}) for value in (False, True))
    continuing = load_tokenizer(mine / "tokenizer").continuing()
    assert plain.objective.batches.masker._continues is None
    assert whole.objective.batches.masker._continues.tolist() == continuing.tolist()
    assert whole.objective.batches.masker.rates.mask == 0.7


def test_the_second_length_draws_other_numbers_from_the_same_seed(given):
    changes = {"seed": 7, "pretrain.final_seq_length": 32, "pretrain.final_share": 0.25}
    phases = given(changes).objective.batches
    first, final = (phases._of_length(length).seed for length in (24, 32))
    assert first == 7 != final
    assert (
        phases._of_length(24).seed
        == given(changes | {"pretrain.final_share": 0.5}).objective.batches._of_length(24).seed
    )
    assert final != given(changes | {"seed": 8}).objective.batches._of_length(32).seed


def test_the_final_length_has_whole_batches_of_its_own(given):
    """The ramp ends before it, and so do the parts of a batch that a ramp begins with."""
    growing = {"pretrain.global_batch": 12, "pretrain.initial_batch": 3, "pretrain.ramp_steps": 8}
    phases = given(growing | {"pretrain.final_seq_length": 32, "pretrain.final_share": 0.25}).objective.batches
    assert [phases._of_length(length).order.batch for length in (24, 32)] == [3, 12]


@pytest.mark.parametrize("nsp", [True, False])
def test_pairs_are_drawn_where_their_label_is_learned(given, nsp):
    batches = given({"pretrain.nsp": nsp}).objective.batches
    assert (batches.microbatches(0, 0.15, 4)[0].next_sentence_label != IGNORE_INDEX).any() == nsp


def test_the_random_weights_are_those_of_the_seed(given):
    first, again, other = (given({"seed": seed}).objective.model.state_dict() for seed in (1, 1, 2))
    for name, tensor in first.items():
        assert torch.equal(tensor, again[name]), name
    for name in ("encoder.embeddings.token.weight", "encoder.layers.0.up.weight"):
        assert not torch.equal(first[name], other[name]), name


@pytest.mark.parametrize("native", [True, False])
def test_the_precision_is_that_of_the_device(given, monkeypatch, native):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {devices._BF16_INSTRUCTIONS[0]: native})
    assert given({"pretrain.precision": "auto"}).recipe.precision == ("bf16" if native else "fp32")


@pytest.mark.parametrize("name", ["tokens/train", "validation", "tokenizer"])
def test_another_input_is_another_run(mine, name):
    params, where = tiny_params().pretraining(), pretraining_paths(mine)
    before = _identity(params, where)
    write_manifest(mine / name, {"other": True})
    assert _identity(params, where) != before


def test_each_card_has_the_scores_of_its_own_weights(mine, monkeypatch):
    scores = iter([2.0, 1.5, 1.75])
    monkeypatch.setattr(
        PretrainingObjective,
        "evaluate",
        lambda _: {"mlm_loss": 1.0, "mlm_accuracy": 0.5, "nsp_loss": 0.5, "nsp_accuracy": 0.5, "loss": next(scores)},
    )
    pretrain(tiny_params().pretraining(), pretraining_paths(mine), CPU)
    for name, step, loss in (("best", 8, "1.5"), ("last", 12, "1.75")):
        card = (mine / "out" / name / "README.md").read_text()
        assert f"| step | {step} |" in card
        assert f"| loss | {loss} |" in card
