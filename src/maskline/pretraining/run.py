"""Pretraining: masked language model and next-sentence prediction (Devlin et al. 2019, sec. 3.1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from maskline.core.errors import UserError
from maskline.core.storage import sweep, write_timing
from maskline.core.text import escape
from maskline.examples.batches import PretrainingBatches
from maskline.examples.draws import key
from maskline.examples.masking import Masker
from maskline.examples.pairs import PairSource
from maskline.examples.premasked import PremaskedSet, read_premasked
from maskline.model.directory import HEADS, TokenizerFiles, data_table, export, model_card
from maskline.model.heads import PretrainingModel
from maskline.pretraining.objective import PretrainingObjective
from maskline.pretraining.phases import Phases
from maskline.pretraining.settings import PretrainingSettings, PretrainParams
from maskline.pretraining.start import PAIRS, Start, read_start
from maskline.shards.store import TokenShards
from maskline.tokenization.load import SpecialIds, load_tokenizer
from maskline.tokenization.model_files import files_for_model
from maskline.training import distributed
from maskline.training.devices import (
    check_memory,
    choose_loaders,
    crowding,
    describe,
    memory_explained,
    place,
    with_precision,
)
from maskline.training.loop import Cadence, Metrics, Progress, train
from maskline.training.progress import process_reporter
from maskline.training.reports import write_reports
from maskline.training.states import REPORTS, ResumableRun, identity_of


@dataclass(frozen=True)
class Paths:
    """What the stage reads and writes."""

    tokens: Path
    validation: Path
    tokenizer: Path
    best: Path
    last: Path
    reports: Path


@memory_explained()
def pretrain(params: PretrainingSettings, paths: Paths, device: torch.device) -> None:
    """Pretrain a model, or go on with an interrupted run, and write models, curves and metrics.

    With `init_from` the weights are those of that model, of the shape that it has; all else is as from random weights.

    Raises:
        UserError: the data does not fit the parameters, training diverged, memory ran out, or it was interrupted.
    """
    recipe = with_precision(params.pretrain, device)
    params = params.model_copy(update={"pretrain": recipe})
    tokenizer = load_tokenizer(paths.tokenizer)
    start = read_start(Path(recipe.init_from), tokenizer) if recipe.init_from else None
    told = list(_told(start, params))
    params = of_start(params, start)
    shards = TokenShards(paths.tokens)
    validation = read_premasked(paths.validation)
    continuing = tokenizer.continuing() if params.masking.whole_word else None
    masker = Masker(params.masking, tokenizer.special, tokenizer.vocab_size, continuing)
    batches = new_batches(params, shards, masker, tokenizer.special)
    _check(params, paths, shards, validation, batches.counts)
    model = new_model(params, tokenizer.vocab_size, shards, start)
    place(model, params.compute, device)
    objective = PretrainingObjective(model, batches, validation, params, device)
    steps = objective.steps
    cadence = Cadence(recipe.evaluate_every, recipe.checkpoint_every, recipe.log_every)

    is_main = distributed.rank() == 0
    identity = _identity(params, paths, start)
    with (
        process_reporter("pretrain", steps, params.compute) as reporter,
        ResumableRun(identity, reporter.say, exclusive=is_main) as run,
    ):
        for line in _plan(model, recipe, batches.counts, steps, told, device):
            reporter.say(f"pretrain: {line}")
        loaders = choose_loaders(params.compute, device)
        if is_main:
            for report in REPORTS:
                sweep(paths.reports / report)
        before = _before(objective, start)
        result = train(objective, recipe, steps, cadence, params.seed, run, reporter, loaders)
        if is_main:
            more = _more(result.progress, objective, recipe, before)
            metrics = write_reports(paths.reports, result.progress, objective, steps, more)
            write_timing("pretrain", **_timing(result.progress))
            data = {
                **data_table(shards.manifest),
                **{name: shards.manifest[name] for name in ("documents", "sentences", "tokens")},
            }
            _export(model, paths.last, params, paths, metrics["last"], data, identity, start, before)
            if pretrained_class(model, params) is None:
                reporter.say(
                    f"pretrain: exported as {model.exported_as}: {model.architecture.title} has no such head as ours, "
                    f"which is in {HEADS}"
                )
            model.load_state_dict(result.best_weights)
            _export(model, paths.best, params, paths, metrics["best"], data, identity, start, before)
            run.finish()
            reporter.say(f"pretrain: {_closing(result.progress)}")


def _plan(
    model: PretrainingModel,
    recipe: PretrainParams,
    counts: Sequence[Mapping[str, int]],
    steps: int,
    told: Iterable[str],
    device: torch.device,
) -> Iterator[str]:
    """Yield what a user should know before the first update; `told` is what there is to say of the start."""
    yield (
        f"{sum(p.numel() for p in model.parameters()):,} parameters on {describe(device)} in {recipe.precision}, "
        f"{_examples(recipe, counts[0]):,} examples, {steps} steps of {_sizes(recipe)} examples"
    )
    yield from told
    if recipe.final_seq_length:
        yield (
            f"from step {recipe.lengthens_at(steps) + 1} on {_examples(recipe, counts[1]):,} examples of up to "
            f"{recipe.final_seq_length} tokens"
        )
    if counts[0]["windows_without_pair"]:
        yield f"{counts[0]['windows_without_pair']:,} windows of text have no pair to give"
    if steps < recipe.warmup_steps:
        yield f"the run ends inside its warm-up, at {steps / recipe.warmup_steps:.0%} of peak_lr"
    if crowded := crowding(device):
        yield crowded


def of_start(params: PretrainingSettings, start: Start | None) -> PretrainingSettings:
    """Return the settings of a run that goes on from `start`: the shape is its own, `init_from` its name.

    Raises:
        UserError: it cannot read what the run has for it.
    """
    if start is None:
        return params
    recipe, shape = params.pretrain, start.shape
    if recipe.nsp and not shape.next_sentence:
        raise UserError(
            f"pretrain.nsp is true, and {start.name}, of architecture {shape.architecture}, has no segments to tell "
            "the sentences of a pair apart: set it to false"
        )
    for name in ("max_seq_length", "final_seq_length"):
        if (length := getattr(recipe, name)) and length > shape.max_positions:
            raise UserError(
                f"pretrain.{name} {length} is longer than the {shape.max_positions} tokens that {start.name} reads: "
                "shorten it"
            )
    model = shape.model_copy(update={"dropout": params.model.dropout})
    return params.model_copy(update={"model": model, "pretrain": recipe.model_copy(update={"init_from": start.name})})


def _told(start: Start | None, params: PretrainingSettings) -> Iterator[str]:
    """Yield what is to be known of the model that a run by `params`, those of params.yaml, goes on from."""
    if start is None:
        return
    yield f"weights are those of {start.name}"
    if contradicted := start.contradicted(params.model):
        yield f"the model has the shape of {start.name}: {', '.join(contradicted)} as in params.yaml"
    if start.saved.vocab_size > start.kept:
        yield f"{start.saved.vocab_size - start.kept:,} rows of the embedding are left out, as no token has them"
    if start.added:
        yield f"{len(start.added):,} tokens are new: each starts as the mean of its old pieces"
    for head in start.lacks:
        if head == PAIRS and not params.pretrain.nsp:
            continue
        yield f"{start.name} has no head for {head}: it starts from random weights"


def _before(objective: PretrainingObjective, start: Start | None) -> Metrics | None:
    """Return the scores of the model that the run goes on from; None where it has no head for masked tokens."""
    return objective.evaluate() if start and start.fills_masks else None


def new_batches(
    params: PretrainingSettings, shards: TokenShards, masker: Masker, special: SpecialIds
) -> PretrainingBatches | Phases:
    """Return the batches of the run in `params`."""
    recipe = params.pretrain

    def cut(length: int) -> PretrainingBatches:
        first = length == recipe.max_seq_length
        return PretrainingBatches(
            PairSource(shards, length, nsp=recipe.nsp),
            masker,
            special,
            # Longer windows are other ones under the same numbers: what is drawn for them is drawn anew.
            seed=params.seed if first else int(key(params.seed, "final length")[0] >> 1),
            global_batch=recipe.global_batch,
            initial_batch=recipe.initial_batch if first else None,
            ramp_steps=recipe.ramp_steps if first else None,
        )

    return Phases(cut, recipe) if recipe.final_seq_length else cut(recipe.max_seq_length)


def new_model(
    params: PretrainingSettings, vocab_size: int, shards: TokenShards, start: Start | None = None
) -> PretrainingModel:
    """Return a model with the weights of `start`, and the initial weights of `params.seed` for what that has not.

    They are the same on every device.

    Raises:
        UserError: this machine has no room for it, or `start` has weights that it has not.
    """
    check_memory(params.model, vocab_size)
    model = PretrainingModel(params.model, vocab_size)
    model.reset(torch.Generator().manual_seed(int(key(params.seed, "weights")[0] >> 1)))
    if params.pretrain.unigram_bias:
        counts = shards.token_counts() + 1.0  # a token never seen still has a logarithm
        with torch.no_grad():
            model.mlm.decoder.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())))
    if start:
        start.copy_into(model)
    return model


def _check(
    params: PretrainingSettings,
    paths: Paths,
    shards: TokenShards,
    validation: PremaskedSet,
    counts: list[dict[str, int]],
) -> None:
    shards.check_tokenizer(paths.tokenizer)
    validation.check_tokenizer(paths.tokenizer)
    longest = max(map(len, validation.input_ids))
    if longest > params.model.max_positions:
        way_out = "lower premask.max_seq_length" if params.pretrain.init_from else "run `dvc repro premask`"
        raise UserError(
            f"{paths.validation} holds {longest} tokens in a row, model.max_positions is {params.model.max_positions}: "
            f"{way_out}"
        )
    recipe = params.pretrain
    for length, found in zip(("", f" at final_seq_length {recipe.final_seq_length}"), counts, strict=False):
        if (examples := _examples(recipe, found)) < recipe.global_batch:
            raise UserError(
                f"the train split gives {examples} examples, fewer than pretrain.global_batch {recipe.global_batch}"
                f"{length}: lower it, or add articles"
            )
        if recipe.nsp and found["windows_without_pair"] == found["windows"]:
            raise UserError(
                f"the train split gives no sentence pairs{length} (one document, or one sentence in each): set "
                "pretrain.nsp to false, or add articles"
            )


def _examples(recipe: PretrainParams, counts: Mapping[str, int]) -> int:
    """Return how many examples an epoch has: with sentence pairs two for each window."""
    return counts["windows"] * (2 if recipe.nsp else 1)


def _sizes(recipe: PretrainParams) -> str:
    return f"{recipe.initial_batch} to {recipe.global_batch}" if recipe.initial_batch else str(recipe.global_batch)


def _identity(params: PretrainingSettings, paths: Paths, start: Start | None = None) -> dict[str, Any]:
    sections = params.model_dump(include={"seed", "masking", "model", "pretrain"})
    inputs = {"tokens": paths.tokens, "validation": paths.validation, "tokenizer": paths.tokenizer}
    if start:
        inputs["init_from"] = start.saved.directory
    return identity_of("pretrain", sections, inputs)


def _more(
    progress: Progress, objective: PretrainingObjective, recipe: PretrainParams, before: Metrics | None
) -> dict[str, Any]:
    """Return what the metrics hold beside the scores; `before` are those of the model that the run went on from."""
    counts = objective.batches.counts
    more: dict[str, Any] = {
        "tokens": progress.tokens,
        "masked_tokens": int(progress.targets["mlm_loss"]),
        "labelled_pairs": int(progress.targets.get("nsp_loss", 0)),
        "parameters": sum(parameter.numel() for parameter in objective.model.parameters()),
        "examples": counts[0],
    }
    if recipe.final_seq_length:
        shorter = min(recipe.lengthens_at(objective.steps), progress.step)
        more |= {"final_examples": counts[1], "steps_before_final_length": shorter}
    if before:
        more["before"] = before
    if any(row["loss"] is None for row in progress.validation):
        more["diverged"] = True
    return more


def _timing(progress: Progress) -> dict[str, float]:
    """Return how long a run took, scores included, and how much it read in a second."""
    timing = {"seconds": round(progress.seconds, 1), "tokens_per_second": round(progress.tokens / progress.seconds)}
    pairs = progress.targets.get("nsp_loss")
    return timing if pairs is None else timing | {"pairs_per_second": round(pairs / progress.seconds, 1)}


def _closing(progress: Progress) -> str:
    """Return how a run ended: how fast it was, and its last losses in nats."""
    timing = _timing(progress)
    pairs = f" and {timing['pairs_per_second']:,} sentence pairs" if "pairs_per_second" in timing else ""
    losses = ", ".join(
        f"{split} {name} {row[name]:.4g}"
        for split, row in (("training", progress.train[-1]), ("validation", progress.validation[-1]))
        for name in ("mlm_loss", "nsp_loss")
        if row.get(name) is not None
    )
    pace = f"{timing['tokens_per_second']:,} tokens{pairs} per second"
    return f"{progress.step} steps in {timing['seconds']:,} s, {pace}; {losses}"


def pretrained_class(model: PretrainingModel, params: PretrainingSettings) -> str | None:
    """Return the class of `transformers` that has the model's heads; None where none has them."""
    return model.architecture.pretrained_class(params.model, nsp=params.pretrain.nsp)


def _export(
    model: PretrainingModel,
    directory: Path,
    params: PretrainingSettings,
    paths: Paths,
    metrics: Metrics,
    data: dict[str, Any],
    identity: dict[str, Any],
    start: Start | None,
    before: Metrics | None,
) -> None:
    nsp = params.pretrain.nsp
    ours = model.architecture
    origin = f"that goes on from {escape(start.name)}, trained" if start else "pretrained from scratch"
    note = f"A {ours.title} encoder {origin} by maskline on masked language modelling" + (
        " and next-sentence prediction."
        if nsp
        else " alone, so that its pooler is untrained and left out."
        if ours.names.pooler
        else " alone."
    )
    tables: dict[str, dict[str, Any]] = {
        "Validation": metrics,
        "Validation, before": before or {},
        "Data": data,
        "Origin": {**start.origin} if start else {},
        "Model": params.model.model_dump(),
        "Training": {"seed": params.seed, **params.masking.model_dump(), **params.pretrain.model_dump()},
        "SHA-256 of the inputs' manifests and of the source": identity["inputs"] | {"source": identity["source"]},
    }
    architecture = pretrained_class(model, params)
    if architecture is not None:
        note += f" Load it with `{architecture}` or `AutoModel`."
    else:
        architecture = model.exported_as
        note += (
            f" Its head for masked words, a single matrix, is none that {ours.title} has: load the encoder with "
            f"`{architecture}` or `AutoModel`; maskline reads the head from {HEADS}."
        )
    note += (
        " Below is its score at the end of training; `reports/evaluate/metrics.json` of the project has the same "
        "beside simple rules."
    )
    if start:
        note += " With `evaluate.also` it tells what was forgotten of what the model was trained on before."
    title = f"maskline {ours.title} ({params.language})"
    card = model_card(title, params.language, tables, note, params.model.architecture)
    shape = params.model
    files = TokenizerFiles(*files_for_model(paths.tokenizer, shape.max_positions, segments=shape.next_sentence))
    untrained = () if nsp else (*ours.names.pooler, *ours.names.nsp)
    provenance = identity | {"data": data}
    if start:  # the ids of those before are its own still
        provenance["tokenizers"] = [identity["inputs"]["tokenizer"], *start.tokenizers]
        if start.origin:
            provenance["origin"] = start.origin
    export(directory, model, architecture, files, card, provenance, untrained=untrained)
