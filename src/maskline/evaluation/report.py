"""The stage `evaluate`: the scores of the pretrained model, each beside what makes it readable."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from maskline.core.errors import UserError
from maskline.core.scores import METRICS, REPORT, Headline, Report, finite, interval, wilson
from maskline.core.storage import MANIFEST, sha256, write_json, write_text
from maskline.evaluation.baselines import pair_baselines, training_pairs, unigram, validation_pairs
from maskline.evaluation.samples import sample_page
from maskline.examples.premasked import PremaskedSet, read_premasked
from maskline.model.directory import load_pretraining_model
from maskline.model.heads import PretrainingModel
from maskline.pretraining.scores import perplexity, pretraining_metrics, pretraining_sums
from maskline.pretraining.start import Start, read_start
from maskline.shards.store import TokenShards
from maskline.tokenization.load import LoadedTokenizer, load_tokenizer
from maskline.tokenization.model_files import check_tokenizer

SAMPLES = "samples.md"
HEADLINES = (
    Headline("mlm.loss", "MLM loss (nats)", "lower", {"mlm.unigram_loss": "unigram frequencies"}, "mlm.masked_tokens"),
    Headline(
        "mlm.accuracy", "MLM accuracy", "higher", {"mlm.unigram_accuracy": "most frequent token"}, "mlm.masked_tokens"
    ),
    Headline("mlm.perplexity", "MLM perplexity", "lower"),
    Headline(
        "nsp.accuracy",
        "NSP accuracy",
        "higher",
        {"nsp.overlap_accuracy": "word overlap", "nsp.length_accuracy": "sentence lengths"},
        "nsp.pairs",
    ),
)


@dataclass(frozen=True)
class Paths:
    """What the stage reads and writes."""

    tokens: Path
    validation: Path
    tokenizer: Path
    model: Path
    reports: Path
    init_from: Path | None = None
    """The model that it went on from; None: random weights."""
    also: Path | None = None
    """Another fixed validation set; None: none."""


def evaluate(paths: Paths, device: torch.device, samples: int, *, nsp: bool) -> dict[str, dict[str, Any]]:
    """Score the pretrained model on the fixed validation set; write the numbers and a page of `samples` predictions.

    Returns:
        The sections of metrics.json: `mlm` and `nsp`; `before`, the masked tokens of the set by the model that it went
        on from; `also` and `also_before`, those of the other set, by both.

    Raises:
        UserError: an input is incomplete, or does not fit the model.
    """
    tokenizer, validation = load_tokenizer(paths.tokenizer), read_premasked(paths.validation)
    model = load_pretraining_model(paths.model).to(device)
    check_tokenizer(paths.model, paths.tokenizer, "pretrain")
    start = read_start(paths.init_from, tokenizer) if paths.init_from else None
    also = _read_also(paths, start, model.encoder.params.max_positions) if paths.also else None
    metrics = pretraining_report(model, validation, TokenShards(paths.tokens), tokenizer, device, nsp=nsp)
    if also:
        metrics["also"] = mlm_scores(model, also, tokenizer, device)
    if start and start.fills_masks:
        former = PretrainingModel(start.shape, tokenizer.vocab_size)
        former.reset(torch.Generator().manual_seed(0))  # a head for sentence pairs that it lacks is not read
        start.copy_into(former)
        former.to(device)
        metrics["before"] = mlm_scores(former, validation, tokenizer, device)
        if also:
            metrics["also_before"] = mlm_scores(former, also, tokenizer, device)
    write_text(paths.reports / SAMPLES, sample_page(model, validation, tokenizer, device, samples))
    Report("", HEADLINES).write(paths.reports / REPORT)
    write_json(paths.reports / METRICS, metrics)
    return metrics


def _read_also(paths: Paths, start: Start | None, max_positions: int) -> PremaskedSet:
    """Return the other validation set.

    It may be of the tokenizer of the model that the run went on from: where pieces were added to that, its ids are the
    same still.
    """
    assert paths.also is not None
    also = read_premasked(paths.also)
    if also.manifest["inputs"]["tokenizer"] not in [
        sha256(paths.tokenizer / MANIFEST),
        *(start.tokenizers if start else ()),
    ]:
        raise UserError(
            f"evaluate.also {paths.also} was made with another tokenizer than {paths.tokenizer} and that of "
            "pretrain.init_from: name a set made with one of these, or null"
        )
    if (longest := max(map(len, also.input_ids))) > max_positions:
        raise UserError(
            f"evaluate.also {paths.also} holds {longest} tokens in a row, and the model reads {max_positions}: name a "
            "set of shorter ones, or null"
        )
    return also


def mlm_scores(
    model: PretrainingModel, validation: PremaskedSet, tokenizer: LoadedTokenizer, device: torch.device
) -> dict[str, Any]:
    """Return the scores of masked tokens alone, those of the section `mlm` that need no training split."""
    return _checked(_mlm(pretraining_sums(model, validation, tokenizer.special, device), validation, tokenizer))


def _mlm(sums: Mapping[str, float], validation: PremaskedSet, tokenizer: LoadedTokenizer) -> dict[str, float | None]:
    loss = sums["mlm_loss"] / sums["masked"]
    return {
        "loss": loss,
        "perplexity": perplexity(loss),
        "nats_per_character": nats_per_character(sums["mlm_loss"], validation, tokenizer),
        "accuracy": sums["mlm_correct"] / sums["masked"],
        **interval("accuracy", wilson(sums["mlm_correct"] / sums["masked"], sums["masked"])),
        "masked_tokens": sums["masked"],
    }


def nats_per_character(summed_loss: float, validation: PremaskedSet, tokenizer: LoadedTokenizer) -> float:
    """Return the summed loss of the masked tokens (nats) by the characters of their texts.

    So losses of vocabularies that differ can be compared: a longer piece is harder to tell, and tells more. The text of
    a piece is what it adds to the normalized text, without the mark of a piece that continues a word.
    """
    return float(summed_loss / tokenizer.characters()[np.concatenate(validation.masked_labels)].sum())


def _checked(mlm: Mapping[str, float | None]) -> dict[str, Any]:
    return finite(mlm) | ({} if all(map(_is_number, mlm.values())) else {"diverged": True})


def pretraining_report(
    model: PretrainingModel,
    validation: PremaskedSet,
    shards: TokenShards,
    tokenizer: LoadedTokenizer,
    device: torch.device,
    *,
    nsp: bool,
) -> dict[str, dict[str, Any]]:
    """Return the sections `mlm` and `nsp`; the accuracy of a model without NSP, and of what has no pairs, is None.

    A loss that is no finite number is None too, and `diverged` then stands beside it.

    Raises:
        UserError: the shards were made with another vocabulary than the model.
    """
    if shards.vocab_size != model.encoder.vocab_size:
        raise UserError(
            f"{shards.directory} was made with {shards.vocab_size} tokens, the model with {model.encoder.vocab_size}: "
            "run `dvc repro`"
        )
    sums = pretraining_sums(model, validation, tokenizer.special, device)
    scores = pretraining_metrics(sums, nsp=nsp)
    labels = np.concatenate(validation.masked_labels)
    unigram_loss, unigram_accuracy = unigram(shards.token_counts(), labels, tokenizer.special)
    mlm = _mlm(sums, validation, tokenizer) | {"unigram_loss": unigram_loss, "unigram_accuracy": unigram_accuracy}
    nsp_accuracy = scores["nsp_accuracy"]
    training = training_pairs(shards, validation.manifest["params"]["max_seq_length"])
    return {
        "mlm": _checked(mlm),
        "nsp": {
            "accuracy": nsp_accuracy,
            **interval("accuracy", None if nsp_accuracy is None else wilson(nsp_accuracy, sums["pairs"])),
            "pairs": sums["pairs"],
            **pair_baselines(training, validation_pairs(validation)),
        },
    }


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
