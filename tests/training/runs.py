"""Short runs of the loop, and what is left of them."""

import os
import signal

import pytest
import torch

from maskline.core.errors import UserError
from maskline.core.storage import TIMINGS, sha256
from maskline.examples.masking import Masker
from maskline.examples.premasked import read_premasked
from maskline.pretraining.objective import PretrainingObjective
from maskline.pretraining.run import Paths, new_batches, new_model
from maskline.shards.store import TokenShards
from maskline.training.loop import Cadence, train
from maskline.training.progress import Reporter
from maskline.training.states import ResumableRun
from tests.tiny import SPECIAL, VOCAB_SIZE

CPU = torch.device("cpu")


class Objective(PretrainingObjective):
    """Pretraining on tiny data, interrupted by Ctrl-C within update `interrupt_at`, counted from 1."""

    def __init__(self, data, params, interrupt_at=None):
        shards = TokenShards(data / "tokens" / "train")
        masker = Masker(params.masking, SPECIAL, VOCAB_SIZE)
        batches = new_batches(params, shards, masker, SPECIAL)
        model = new_model(params, VOCAB_SIZE, shards)
        super().__init__(model, batches, read_premasked(data / "validation"), params, CPU)
        self.interrupt_at = interrupt_at

    def microbatches(self, step):
        if step + 1 == self.interrupt_at:
            os.kill(os.getpid(), signal.SIGINT)
        return super().microbatches(step)


def run(objective, params, root, said=None, loaders=0):
    """Train `objective` by the recipe in `params`, with its states below `root`; `said` takes what is told."""
    recipe = params.pretrain
    cadence = Cadence(recipe.evaluate_every, recipe.checkpoint_every, recipe.log_every)
    say = [].append if said is None else said.append
    reporter = Reporter("test", recipe.steps, "silent")
    with reporter, ResumableRun({"stage": "test"}, say, root=root) as states:
        return train(objective, recipe, recipe.steps, cadence, params.seed, states, reporter, loaders)


def run_in_parts(build, params, root, *stops):
    """Train with a Ctrl-C at each of `stops` and a new objective after each; return the last part's result."""
    for stop in stops:
        with pytest.raises(UserError, match=f"interrupted after step {stop} of"):
            run(build(stop), params, root)
    return run(build(None), params, root)


def pretraining_paths(data, out="out"):
    """Return what `pretrain` reads in `data` and writes below `out` in it."""
    folder = data / out
    return Paths(
        tokens=data / "tokens" / "train",
        validation=data / "validation",
        tokenizer=data / "tokenizer",
        best=folder / "best",
        last=folder / "last",
        reports=folder / "reports",
    )


def contents(folder):
    """Return the SHA-256 of every file below `folder` but those that tell the time."""
    files = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name.as_posix(): sha256(path) for name, path in files.items() if TIMINGS.name not in name.parts}


def newest_state(root):
    """Return the newest state below `root`, without what depends on the clock."""
    state = torch.load(max(root.glob("*/state-*.pt")), weights_only=True)
    del state["progress"]["seconds"]
    return state


def same(a, b):
    """Return whether two values, tensors inside collections included, are equal bit for bit."""
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b
