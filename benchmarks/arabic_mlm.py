"""The preset arabic-mlm against the textbook's loop: the loss of both after the preset's epochs, and their times.

Both train the same architecture on the same windows of text, from the same weights and with the same schedule. The same
code scores both on the fixed validation set. As in `time_to_loss`, a time is the number of updates times the time of an
update, measured in turns.

The textbook's loop computes logits at every position, which takes hours. Where it is run to its end it leaves out the
logits that its loss ignores, which does not change its losses; its time is still that of the original loop.
"""

import math
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import typer
from ruamel.yaml import YAML

from benchmarks.arabic import ABSENT, RAW, are_there
from benchmarks.corpus import made
from benchmarks.measure import Row, Series, interleaved, turn
from benchmarks.ours import Features, Ours, objective, resolved, train_silently
from benchmarks.peers.peer import Recipe
from benchmarks.peers.plain import Labelled, Plain, begin_with, to_hugging_face
from benchmarks.report import REPORTS, cores
from maskline.core.errors import UserError
from maskline.core.storage import read_json, write_json
from maskline.examples.batches import PretrainingBatches
from maskline.model.convert import from_hugging_face
from maskline.model.convert import to_hugging_face as ours_to_hugging_face
from maskline.settings.files import merge, read_yaml
from maskline.settings.params import PARAMS, Params, load
from maskline.tokenization.load import load_tokenizer
from maskline.training.loop import Cadence
from maskline.training.schedules import multiplier

SUBJECT = "arabic-mlm, five epochs"
PRESET = Path("presets/arabic-mlm.yaml")
BUILT = Path(".benchmarks/arabic-mlm")
RECORD = "arabic_mlm_runs.json"
TIMES = 5.0
NATS = 0.02
UPDATES = {"ours": 5, "plain": 1}
"""Updates per turn when the time of an update is measured."""
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Score:
    """The scores of a run at the end of an epoch."""

    epoch: int
    updates: int
    mlm_loss: float
    mlm_accuracy: float


def rows() -> list[Row]:
    """Measure the time of an update of both; the losses are those of the recorded runs.

    Raises:
        UserError: no runs are recorded.
    """
    if not are_there():
        return [Row(SUBJECT, "plain", None, TIMES, note=ABSENT)]
    path = REPORTS / RECORD
    if not path.is_file():
        raise UserError(f"{path} is missing: run `python -m benchmarks arabic_mlm --full` once, for half an hour")
    return _rows(*_prepare(), read_json(path))


def full_rows() -> list[Row]:
    """Train both to their end and record their scores."""
    if not are_there():
        return [Row(SUBJECT, "plain", None, TIMES, note=ABSENT)]
    params, data = _prepare()
    record = {"ours": ours(params, data), "plain": plain(params, data)}
    content = {name: [asdict(score) for score in scores] for name, scores in record.items()}
    write_json(REPORTS / RECORD, content)
    return _rows(params, data, content)


def _prepare() -> tuple[Params, Path]:
    """Return the preset's parameters and its data, made of the Arabic articles, with a vocabulary learned from them."""
    torch.set_num_threads(cores())
    content = merge(read_yaml(PARAMS), read_yaml(PRESET))
    content["tasks"] = {}
    content["corpus"] |= {"source": "files"}
    content["corpus"]["files"] |= {"paths": [str(RAW / "*.jsonl.gz")]}
    content["tokenizer"] |= {"kind": "wordpiece"}
    BUILT.mkdir(parents=True, exist_ok=True)
    YAML().dump(content, BUILT / "params.yaml")
    return resolved(load(BUILT / "params.yaml"), CPU), made(BUILT, BUILT / "params.yaml")


def _rows(params: Params, data: Path, record: dict[str, list[dict[str, Any]]]) -> list[Row]:
    mine, theirs = Score(**record["ours"][-1]), Score(**record["plain"][-1])
    rates = update_rates(params, data)
    seconds = {name: score.updates / rates[name].median for name, score in (("ours", mine), ("plain", theirs))}
    told = (
        f"{mine.mlm_loss:.3f} nats after {mine.updates:,} updates, plain {theirs.mlm_loss:.3f} after {theirs.updates:,}"
    )
    times = tuple(Series(name, "s", (taken,)) for name, taken in seconds.items())
    losses = tuple(Series(name, "nats", (s.mlm_loss,)) for name, s in (("ours", mine), ("plain", theirs)))
    return [
        Row(SUBJECT, "plain, time", seconds["plain"] / seconds["ours"], TIMES, series=times, note=told),
        Row(SUBJECT, "plain, loss over its", mine.mlm_loss - theirs.mlm_loss, NATS, "at most", losses, note=told),
    ]


def update_rates(params: Params, data: Path) -> dict[str, Series]:
    """Return the updates per second of ours and of the textbook's original loop, measured in turns."""
    contender = Ours(params, data, CPU)
    batches = contender.objective.batches
    peer = _peer(Plain, params, data, steps=batches.updates(params.pretrain.epochs or 1))
    examples = Features(batches).batched(params.pretrain.global_batch)

    contenders = {
        "ours": turn(contender.update, UPDATES["ours"]),
        "plain": turn(lambda: peer.update(next(examples)), UPDATES["plain"]),
    }
    return interleaved(contenders, "updates")


def _peer(kind: type[Plain], params: Params, data: Path, steps: int) -> Plain:
    recipe = params.pretrain
    schedule = partial(
        multiplier,
        steps=steps,
        warmup_steps=recipe.warmup_steps,
        schedule=recipe.schedule,
        decay_share=recipe.decay_share,
    )
    theirs = Recipe(
        recipe.peak_lr, schedule, (recipe.beta1, recipe.beta2), recipe.eps, recipe.weight_decay, recipe.clip_norm
    )
    tokenizer = load_tokenizer(data / "tokenizer")
    torch.manual_seed(params.seed)
    return kind(params, tokenizer.vocab_size, tokenizer.special, theirs, CPU)


def ours(params: Params, data: Path) -> list[Score]:
    """Train ours with the product's loop; return its scores, one for each epoch."""
    made_of = objective(params, data, CPU)
    epoch, steps = made_of.batches.updates(1), made_of.steps
    result = train_silently(made_of, params, steps, Cadence(epoch, params.pretrain.checkpoint_every, epoch))
    scores = []
    for row in result.progress.validation:
        scores.append(Score(round(row["epoch"]), row["step"], row["mlm_loss"], row["mlm_accuracy"]))
        _say("ours", scores[-1])
    return scores


def plain(params: Params, data: Path) -> list[Score]:
    """Train the textbook's loop on the same examples, in random order; return its scores, one for each epoch."""
    judge = objective(params, data, CPU)
    assert isinstance(judge.batches, PretrainingBatches), "of one sequence length"
    peer = _peer(Labelled, params, data, judge.steps)
    begin_with(peer.bert, ours_to_hugging_face(judge.model))
    epochs, size = params.pretrain.epochs or 1, params.pretrain.global_batch
    scores, updates = [], 0
    for epoch in range(1, epochs + 1):
        for features in epoch_of(judge.batches, epoch - 1, size):
            peer.update(features)
            updates += 1
        fit = from_hugging_face(judge.model, to_hugging_face(peer.bert))
        assert not fit.missing
        metrics = judge.evaluate()
        assert metrics["mlm_loss"] is not None
        assert metrics["mlm_accuracy"] is not None
        scores.append(Score(epoch, updates, metrics["mlm_loss"], metrics["mlm_accuracy"]))
        _say("plain", scores[-1])
    return scores


def epoch_of(batches: PretrainingBatches, epoch: int, size: int) -> list[list[dict[str, Any]]]:
    """Return the batches of an epoch in random order; the last one may be smaller."""
    features = Features(batches).epoch(epoch)
    return [features[number * size : (number + 1) * size] for number in range(math.ceil(len(features) / size))]


def _say(who: str, score: Score) -> None:
    typer.echo(f"{who}: epoch {score.epoch}, {score.updates:,} updates, MLM loss {score.mlm_loss:.3f}", err=True)
