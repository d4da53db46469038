"""The training step: real tokens per second of ours and of the peers, with masking and collating in each update."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.corpus import reference_data
from benchmarks.flops import fastest_product, training_flops, wait
from benchmarks.measure import Row, Series, against, interleaved
from benchmarks.ours import Features, Ours, real_tokens, resolved
from benchmarks.peers.hf import HuggingFace, trainer_rate
from benchmarks.peers.peer import Feature, Peer, Recipe
from benchmarks.peers.plain import Plain
from benchmarks.peers.positions import Positions
from benchmarks.report import cores
from benchmarks.synthetic import write_data
from maskline.settings.files import read_yaml
from maskline.settings.params import PARAMS, Params, parse
from maskline.tokenization.load import load_tokenizer


@dataclass(frozen=True)
class Cell:
    """A model, its batches, and the targets."""

    subject: str
    sections: Mapping[str, dict[str, Any]]
    """Section of params.yaml -> the values that differ from the reference run."""
    vocab_size: int | None
    """Vocabulary size of synthetic text; None: the tokenizer and text of the reference run."""
    updates: Mapping[str, int]
    """Contender (`ours` or a peer) -> its updates in one turn, chosen so that all turns take about as long."""
    targets: Mapping[str, float]
    """Peer -> how many times faster ours should be."""

    def params(self) -> Params:
        """Return the reference run's parameters, changed by the cell's sections."""
        content = read_yaml(PARAMS)
        for section, values in self.sections.items():
            content[section] |= values
        return parse(content | {"tasks": {}}, {})


def transformer(layers: int, hidden: int, heads: int, positions: int = 128) -> dict[str, Any]:
    """Return a section `model` with BERT's proportions: the feed-forward network is four times as wide."""
    sizes = {"layers": layers, "hidden": hidden, "heads": heads, "intermediate": 4 * hidden}
    return sizes | {"max_positions": positions, "activation": "gelu", "dropout": 0.0}


def recipe(batch: int) -> dict[str, Any]:
    """Return a section `pretrain` that trains as the peers do: AdamW for all weights, one microbatch per update."""
    sizes = {"global_batch": batch, "micro_batch": batch, "max_seq_length": 128, "nsp": True}
    return sizes | {"optimizer": "adamw", "clip_norm": 1.0}


MASKING = {"rate": 0.15, "final_rate": None}
"""A section `masking` with BERT's rate."""
LARGE_VOCABULARY = Cell(
    "training step, 64k vocabulary",
    {"model": transformer(4, 128, 4), "pretrain": recipe(32), "masking": MASKING},
    vocab_size=64_000,
    updates={"ours": 5},
    targets={"HF": 6.5, "plain": 6.5},
)
DEFAULT = Cell(
    "training step, default run",
    {},
    vocab_size=None,
    updates={"ours": 20, "HF": 5, "HF at our precision": 5, "plain": 5, "positions": 10},
    targets={"HF": 4.0, "plain": 4.0, "positions": 2.0},
)
BASE = Cell(
    "training step, BERT-base",
    {"model": transformer(12, 768, 12, 512), "pretrain": recipe(8), "masking": MASKING},
    vocab_size=30_522,
    updates={},
    targets={"HF": 1.3},
)
PEAK = "fastest matrix product"
PEAK_SHARE = 0.6
TRAINER_UPDATES = 40
TRAINER_WARMUP = 5


def rows() -> list[Row]:
    """Measure the three cells on all cores."""
    torch.set_num_threads(cores())
    cpu = torch.device("cpu")
    return [row for cell in (LARGE_VOCABULARY, DEFAULT, BASE) for row in measure(cell, cpu)]


def measure(cell: Cell, device: torch.device, repetitions: int = 5) -> list[Row]:
    """Measure ours against every peer for which `cell` has a target, and against HF at our precision."""
    with tempfile.TemporaryDirectory() as directory:
        contest = Contest(cell, device, Path(directory))
        contenders = contest.contenders()
        if cell is BASE:
            contenders[PEAK] = contest.peak()
        series = interleaved(contenders, "tokens", repetitions=repetitions)
        ours, peak = series.pop("ours"), series.pop(PEAK, None)
        note = f"ours: {contest.params.pretrain.optimizer}, {contest.params.pretrain.precision}"
        found = [
            against(cell.subject, ours, theirs, cell.targets.get(name), note=note) for name, theirs in series.items()
        ]
        if cell is DEFAULT:
            found.append(contest.against_trainer(series["HF"]))
        if peak:
            found.append(contest.against_peak(ours, peak))
    return found


class Contest:
    """The contenders of a cell, on the same examples."""

    def __init__(self, cell: Cell, device: torch.device, scratch: Path) -> None:
        """Build the contenders; synthetic text is written to the directory `scratch`."""
        self.cell = cell
        self.device = device
        self.params = resolved(cell.params(), device)
        batch = self.params.pretrain.global_batch
        self.data = (
            write_data(scratch, self.params, cell.vocab_size, documents=100 * batch)
            if cell.vocab_size
            else reference_data()
        )
        self.ours = Ours(self.params, self.data, device)
        self.features = Features(self.ours.objective.batches)
        tokenizer = load_tokenizer(self.data / "tokenizer")
        self.vocab_size = tokenizer.vocab_size
        hugging_face = partial(HuggingFace, self.params, self.data / "tokenizer", device=device)
        textbook = {
            name: partial(peer, self.params, self.vocab_size, tokenizer.special, device=device)
            for name, peer in (("plain", Plain), ("positions", Positions))
        }
        builders: dict[str, Callable[..., Peer]] = {"HF": hugging_face, **textbook}
        self.peers = {name: builders[name](recipe=Recipe()) for name in cell.targets}
        if self.params.pretrain.precision == "bf16":
            self.peers["HF at our precision"] = hugging_face(recipe=Recipe(precision="bf16"))

    def contenders(self) -> dict[str, Callable[[], float]]:
        """Return the contenders for `interleaved`: each takes a few updates and returns their real tokens."""
        batch = self.params.pretrain.global_batch
        turns: dict[str, Callable[[], float]] = {"ours": self._turn("ours", self.ours.update)}
        for name, peer in self.peers.items():
            turns[name] = self._turn(name, partial(_update, peer, self.features.batched(batch)))
        return turns

    def _turn(self, name: str, update: Callable[[], float]) -> Callable[[], float]:
        def turn() -> float:
            tokens = sum(update() for _ in range(self.cell.updates.get(name, 1)))
            wait(self.device)
            return tokens

        return turn

    def against_trainer(self, by_hand: Series) -> Row:
        """Return the row of our own HF loop over the real `Trainer`, which runs once."""
        peer = HuggingFace(self.params, self.data / "tokenizer", Recipe(), self.device)
        batch = self.params.pretrain.global_batch
        examples = self.features.epoch(0)[: batch * (TRAINER_UPDATES + TRAINER_WARMUP)]
        rate = trainer_rate(peer, examples, batch, TRAINER_UPDATES, TRAINER_WARMUP)
        trainer = Series("HF Trainer", by_hand.unit, (rate,) * len(by_hand.values))
        row = against(self.cell.subject, by_hand, trainer, peer="HF by hand over its Trainer")
        return replace(row, note="one run of the real Trainer; shows that the HF that others are held against is fair")

    def peak(self) -> Callable[[], float]:
        """Return a contender that runs the fastest matrix product at our precision and returns its operations."""
        return fastest_product(self.device, self.params.pretrain.precision)

    def against_peak(self, ours: Series, peak: Series) -> Row:
        """Return the row of our model FLOPs per second over those of `peak`."""
        batch = self.ours.objective.microbatches(0)[0]
        per_token = training_flops(self.params.model, self.vocab_size, batch) / batch.tokens
        model = Series("ours", "FLOP/s", tuple(rate * per_token for rate in ours.values))
        peer = f"{PEAK}, {self.params.pretrain.precision}"
        return against(self.cell.subject, model, replace(peak, unit="FLOP/s"), PEAK_SHARE, peer=peer)


def _update(peer: Peer, batches: Iterator[list[Feature]]) -> float:
    features = next(batches)
    peer.update(features)
    return real_tokens(features)
