"""What labels are worth: the scores of a task by the number of labelled examples that are learned from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskline.core.storage import append_csv, fingerprint, read_csv, read_json, write_csv, write_json
from maskline.dataset.read import ID, Columns, Dataset, read_dataset
from maskline.examples.draws import key, permute
from maskline.finetuning.run import Paths, cadence_of, learn_texts, prepare
from maskline.finetuning.settings import FinetuneParams, FinetuningSettings
from maskline.finetuning.task import AnyTask, Pretrained, TaskFactory
from maskline.tokenization.load import load_tokenizer
from maskline.training.devices import choose_loaders, memory_explained, with_precision
from maskline.training.loop import train
from maskline.training.progress import process_reporter
from maskline.training.states import ResumableRun, identity_of

CURVE, IDENTITY = "curve.csv", "identity.json"
COLUMNS = ("labels", "seed", "model", "score")
SCRATCH = "random weights"


@dataclass(frozen=True)
class Curve:
    """Scores by number of labels."""

    score: str
    """What was measured on the test split."""
    rows: list[dict[str, str]]
    """One for each number of labels, seed and model."""


@memory_explained()
def learning_curve(
    name: str,
    make_task: TaskFactory,
    settings: FinetuningSettings,
    paths: Paths,
    sizes: Sequence[int],
    seeds: int,
    device: torch.device,
) -> Curve:
    """Learn the task `name` from some of its labels, then from all, and score each model on the test split.

    The examples of a seed are those that a hash of it draws, and the fewer are among the more. As many are there to
    choose the epoch on, from the validation split. Networks start from the pretrained encoder and from random weights;
    beside them stand the task's baselines that have the score that decides. With `text_epochs` the pretrained encoder
    first reads the texts of all examples, which need no label. A run that was interrupted goes on.

    Args:
        name: of the task.
        make_task: makes a task of its kind.
        settings: those of `finetune`; its seed is replaced.
        paths: `reports` is where the curve goes; nothing is written to `model`.
        sizes: numbers of labels; those that the task has not are left out.
        seeds: how many draws.
        device: where to compute.
    """
    recipe = with_precision(settings.recipe, device)
    dataset = read_dataset(paths.data, name)
    task = make_task(recipe, dataset.manifest)
    total, tokenizer = len(dataset.splits["train"][ID]), load_tokenizer(paths.tokenizer)
    inputs = {"data": paths.data, "tokenizer": paths.tokenizer}
    assert paths.pretrained is not None
    params = {**settings.model_dump(include={"model"}), "finetune": recipe.model_dump()}
    identity = identity_of(f"learning curve {name}", params, inputs | {"pretrained": paths.pretrained})
    done = _begun(paths.reports, fingerprint(identity))
    networks: dict[int, dict[str, Tensor]] = {}
    for size in [*(size for size in sizes if size < total), total]:
        for seed in range(seeds):
            part = _drawn(dataset, size, seed)
            for model, where in {"pretrained": paths, SCRATCH: replace(paths, pretrained=None)}.items():
                if (str(size), str(seed), model) not in done:
                    own = settings.model_copy(update={"seed": seed})
                    started = recipe.from_start(pretrained=where.pretrained is not None)
                    if where.pretrained and recipe.text_epochs and seed not in networks:
                        of_all = prepare(task, dataset, own, recipe, where, device)
                        learn_texts(name, of_all, own, recipe, where)
                        networks[seed] = of_all.model.state_dict()
                    network = networks.get(seed) if where.pretrained else None
                    title = f"{name} from {size:,} labels"
                    value = _trained(title, task, part, own, started, where, network, identity, device)
                    _append(paths.reports, size, seed, {model: value})
            if not any(row[:2] == (str(size), str(seed)) and row[2] not in {"pretrained", SCRATCH} for row in done):
                rules = task.baselines(part, Pretrained(paths.pretrained, settings.encoder.stage, tokenizer, device))
                scores = {
                    rule.key: rule.scores[task.criterion]
                    for rule in rules
                    if task.criterion in rule.scores and (str(size), str(seed), rule.key) not in done
                }
                _append(paths.reports, size, seed, scores)
    return Curve(task.metrics[task.criterion], read_csv(paths.reports / CURVE))


def _begun(directory: Path, identity: str) -> set[tuple[str, str, str]]:
    """Return what is measured already, of labels, seed and model; begin anew where it was of something else."""
    directory.mkdir(parents=True, exist_ok=True)
    if (directory / IDENTITY).exists() and read_json(directory / IDENTITY) == identity and (directory / CURVE).exists():
        return {(row["labels"], row["seed"], row["model"]) for row in read_csv(directory / CURVE)}
    write_csv(directory / CURVE, [], COLUMNS)
    write_json(directory / IDENTITY, identity)
    return set()


def _append(directory: Path, size: int, seed: int, scores: Mapping[str, float]) -> None:
    for model, score in scores.items():
        append_csv(directory / CURVE, {"labels": size, "seed": seed, "model": model, "score": score}, COLUMNS)


def _drawn(dataset: Dataset, size: int, seed: int) -> Dataset:
    """Return `size` examples to train on, as many at most to choose on, and the whole test split."""
    splits = {split: _some(dataset.splits[split], size, seed, split) for split in ("train", "validation")}
    return Dataset(dataset.manifest, {**dataset.splits, **splits})


def _some(columns: Columns, size: int, seed: int, split: str) -> Columns:
    count = len(columns[ID])
    order = permute(key(seed, f"labels {split}"), np.arange(min(size, count)), count)
    rows = np.sort(order).tolist()
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def _trained(
    title: str,
    task: AnyTask,
    dataset: Dataset,
    settings: FinetuningSettings,
    recipe: FinetuneParams,
    paths: Paths,
    network: Mapping[str, Tensor] | None,
    identity: Mapping[str, Any],
    device: torch.device,
) -> float:
    """Return the score of a network on the test split; it starts from the weights of `network` where they are given."""
    objective = prepare(task, dataset, settings, recipe, paths, device)
    if network is not None:
        objective.model.load_state_dict(network)
    steps = recipe.total_steps(objective.updates)
    chosen = {"seed": settings.seed, "labels": len(dataset.splits["train"][ID]), "start": paths.start}
    with (
        process_reporter(f"{title}, {paths.start}", steps, settings.compute) as reporter,
        ResumableRun({**identity, "drawn": chosen}, reporter.say) as run,
    ):
        loaders = choose_loaders(settings.compute, device)
        result = train(objective, recipe, steps, cadence_of(recipe, objective), settings.seed, run, reporter, loaders)
        objective.model.load_state_dict(result.best_weights)
        test = task.encode(dataset.splits["test"], load_tokenizer(paths.tokenizer), recipe.max_seq_length)
        score: float = task.scores(test, task.predict(objective.model, test, device))[task.criterion]
        run.finish()
    return score
