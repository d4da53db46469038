"""maskline as a contender. Only this module of the benchmarks uses the training code, as the stages do."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import torch

from benchmarks.peers.peer import Feature
from maskline.examples.batches import PretrainingBatches, assemble
from maskline.examples.masking import Masker
from maskline.examples.premasked import read_premasked
from maskline.pretraining.objective import PretrainingObjective
from maskline.pretraining.phases import Phases
from maskline.pretraining.run import new_batches, new_model
from maskline.settings.params import Params
from maskline.shards.store import TokenShards
from maskline.tokenization.load import load_tokenizer
from maskline.training.devices import with_precision
from maskline.training.loop import Cadence, Result, _update, train
from maskline.training.optimizers import build_optimizers
from maskline.training.progress import Reporter
from maskline.training.states import ResumableRun

CHUNK = 1024


def resolved(params: Params, device: torch.device) -> Params:
    """Return `params` with the precision that they mean on `device`."""
    return params.model_copy(update={"pretrain": with_precision(params.pretrain, device)})


def objective(params: Params, data: Path, device: torch.device) -> PretrainingObjective:
    """Return the objective of the stage `pretrain` for a folder with the layout of `data`."""
    tokenizer = load_tokenizer(data / "tokenizer")
    shards = TokenShards(data / "tokens" / "train")
    masker = Masker(params.masking, tokenizer.special, tokenizer.vocab_size)
    batches = new_batches(params.pretraining(), shards, masker, tokenizer.special)
    model = new_model(params.pretraining(), tokenizer.vocab_size, shards).to(device)
    return PretrainingObjective(model, batches, read_premasked(data / "validation"), params.pretraining(), device)


def train_silently(objective: PretrainingObjective, params: Params, steps: int, cadence: Cadence) -> Result:
    """Train `objective` with the product's loop, without output; its resumable states are removed."""
    with (
        tempfile.TemporaryDirectory() as directory,
        Reporter("ours", steps, "silent") as reporter,
        ResumableRun({"stage": "benchmark"}, lambda _: None, root=Path(directory)) as run,
    ):
        return train(objective, params.pretrain, steps, cadence, params.seed, run, reporter)


class Ours:
    """The product's update, one at a time, at a tenth of the peak learning rates, so that training cannot diverge."""

    def __init__(self, params: Params, data: Path, device: torch.device) -> None:
        self.params = params = resolved(params, device)
        self.objective = objective(params, data, device)
        self.optimizers = build_optimizers(self.objective.model, params.pretrain)
        self.step = 0
        self.objective.model.train()

    def update(self) -> float:
        """Take the next update; return its number of real tokens."""
        microbatches = self.objective.microbatches(self.step)
        recipe, seed = self.params.pretrain, self.params.seed
        targets, _, _ = _update(self.objective, self.optimizers, microbatches, self.step, 0.1, recipe, seed)
        self.step += 1
        return targets["tokens"]


@dataclass
class Features:
    """The examples of our batches in the format of `transformers`, one epoch after the other, in random order."""

    batches: PretrainingBatches | Phases
    seed: int = 0

    def epoch(self, epoch: int) -> list[Feature]:
        """Return all examples of an epoch."""
        assert isinstance(self.batches, PretrainingBatches), "of one sequence length"
        source, order = self.batches.source, self.batches.order
        copies = order.count // len(source)
        features: list[Feature] = []
        for positions in np.split(np.arange(order.count), range(CHUNK, order.count, CHUNK)):
            segments = source.segments_at(order, epoch, positions // copies, positions % copies == 1)
            input_ids, token_type_ids = assemble(source, segments, self.batches.special)
            special = np.isin(input_ids, list(self.batches.special)).astype(np.int64)
            features += [
                {
                    "input_ids": input_ids[row, :size].tolist(),
                    "token_type_ids": token_type_ids[row, :size].tolist(),
                    "special_tokens_mask": special[row, :size].tolist(),
                    "next_sentence_label": int(segments.next_sentence_label[row]),
                }
                for row, size in enumerate(segments.sizes.tolist())
            ]
        return [features[place] for place in np.random.default_rng([self.seed, epoch]).permutation(len(features))]

    def batched(self, size: int) -> Iterator[list[Feature]]:
        """Yield batches of `size` examples without end; the rest of an epoch that fills no batch is left out."""
        for epoch in count():
            features = self.epoch(epoch)
            yield from (features[at : at + size] for at in range(0, len(features) - size + 1, size))


def real_tokens(features: list[Feature]) -> int:
    """Return the number of tokens of examples, without padding."""
    return sum(len(feature["input_ids"]) for feature in features)
