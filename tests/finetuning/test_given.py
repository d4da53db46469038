"""What a run is given: which split, seed, precision and number of processes reaches the loop, and by which parts."""

from types import SimpleNamespace

import pytest
import torch

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST, read_json, write_manifest
from maskline.dataset.read import Dataset, read_dataset
from maskline.finetuning import run as finetuning_run
from maskline.finetuning.objective import FinetuningObjective
from maskline.finetuning.run import LOG_EVERY, _examples, _identity
from maskline.training import devices
from maskline.training.loop import Cadence, Progress
from maskline.training.reports import write_reports
from tests.finetuning.test_run import STARTS, paths, tune
from tests.tiny import tiny_params


@pytest.fixture(name="given")
def _given(mine, monkeypatch):
    """Return a function that begins a run; it gives what the loop was given."""

    def given(changes=None, start="pretrained"):
        found = SimpleNamespace()

        def train(objective, recipe, steps, cadence, seed, run, reporter, loaders=0):
            vars(found).update(locals())
            raise UserError("begun")

        monkeypatch.setattr(finetuning_run, "train", train)
        with pytest.raises(UserError, match="begun"):
            tune(tiny_params(changes).finetuning("sentiment"), paths(mine, start=start))
        return found

    return given


@pytest.mark.parametrize("start", STARTS)
def test_the_training_split_is_learned_and_the_validation_split_scored(given, mine, start):
    objective, splits = given(start=start).objective, read_dataset(mine / "task", "sentiment").splits
    assert objective.training.labels.tolist() == splits["train"]["label"]
    assert objective.validation.labels.tolist() == splits["validation"]["label"]
    for encoded, split in ((objective.training, "train"), (objective.validation, "validation")):
        words = [len(text.split()) for text in splits[split]["text"]]
        assert encoded.sizes.tolist() == [min(count + 2, 12) for count in words]


def test_the_seed_is_that_of_the_order_and_of_dropout(given):
    found = given({"seed": 7, "premask.seed": 3})
    assert found.seed == found.objective.order.seed == 7


def test_the_score_and_the_state_come_once_an_epoch(given):
    found = given({"finetune.epochs": 3})
    steps = found.objective.steps_per_epoch
    assert found.steps == 3 * steps
    assert found.cadence == Cadence(steps, steps, LOG_EVERY)


def test_processes_that_prepare_batches_are_as_many_as_compute_says(given):
    assert given({"compute.loaders": 3}).loaders == 3
    assert given({"compute.loaders": None}).loaders == 0


@pytest.mark.parametrize("native", [True, False])
def test_the_precision_is_that_of_the_device(given, monkeypatch, native):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {devices._BF16_INSTRUCTIONS[0]: native})
    assert given({"finetune.precision": "auto"}).recipe.precision == ("bf16" if native else "fp32")


def test_the_identity_of_a_run_is_what_shapes_it(mine):
    def identity(changes=None, **where):
        settings = tiny_params(changes).finetuning("sentiment")
        return _identity("finetune sentiment", settings, settings.recipe, paths(mine, **where))

    reference = identity()
    compute = {"compute.device": "auto", "compute.threads": 3, "compute.loaders": 2}
    others = {"pretrain.steps": 13, "premask.seed": 3, "masking.rate": 0.2}
    assert identity(compute) == identity(others) == reference
    for key, value in {"seed": 1, "model.layers": 1, "finetune.epochs": 9}.items():
        assert identity({key: value}) != reference, key
    assert identity(pretrained="words") != reference
    for directory in (mine / "task", mine / "tokenizer", mine / "out" / "best"):
        before = (directory / MANIFEST).read_bytes()
        write_manifest(directory, {"other": True})
        assert identity() != reference, directory
        (directory / MANIFEST).write_bytes(before)
    assert identity() == reference


def test_the_card_has_the_scores_of_the_epoch_that_is_kept(mine, monkeypatch):
    scores = iter([0.5, 0.75, 0.625])
    monkeypatch.setattr(
        FinetuningObjective,
        "evaluate",
        lambda _: {"loss": 1.0, "accuracy": (score := next(scores)), "macro_f1": score},
    )
    tune(tiny_params({"finetune.epochs": 3}).finetuning("sentiment"), paths(mine))
    card = (mine / "tuned" / "sentiment" / "README.md").read_text()
    assert "| macro_f1 | 0.75 |" in card
    assert "0.625" not in card


def test_each_split_has_its_own_numbers(tmp_path):
    objective = SimpleNamespace(
        training=SimpleNamespace(cut=3, unk_rate=0.25),
        validation=SimpleNamespace(cut=2, unk_rate=0.5),
        train_columns=("step",),
        validation_columns=("step", "loss"),
    )
    dataset = Dataset({}, {"train": {"id": ["a", "b", "c"]}, "validation": {"id": ["d"]}, "test": {"id": ["e", "f"]}})
    progress = Progress(step=4, best_step=2, validation=[{"step": 2, "loss": 1.0}, {"step": 4, "loss": 2.0}])
    write_reports(tmp_path, progress, objective, 4, _examples(objective, dataset))
    assert read_json(tmp_path / "metrics.json") == {
        "best": {"step": 2, "loss": 1.0},
        "last": {"step": 4, "loss": 2.0},
        "steps": 4,
        "examples": {"train": 3, "validation": 1},
        "cut": {"train": 3, "validation": 2},
        "unk_rate": {"train": 0.25, "validation": 0.5},
    }
