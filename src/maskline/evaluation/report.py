"""The stage `evaluate`: the scores of the pretrained model, each beside what makes it readable."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from maskline.core.errors import UserError
from maskline.core.scores import METRICS, REPORT, Headline, Report, finite, interval, wilson
from maskline.core.storage import write_json, write_text
from maskline.evaluation.baselines import pair_baselines, training_pairs, unigram, validation_pairs
from maskline.evaluation.samples import sample_page
from maskline.examples.premasked import PremaskedSet, read_premasked
from maskline.model.directory import load_pretraining_model
from maskline.model.heads import PretrainingModel
from maskline.pretraining.scores import perplexity, pretraining_metrics, pretraining_sums
from maskline.shards.store import TokenShards
from maskline.tokenization.load import SpecialIds, load_tokenizer
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


def evaluate(paths: Paths, device: torch.device, samples: int, *, nsp: bool) -> dict[str, dict[str, Any]]:
    """Score the pretrained model on the fixed validation set; write the numbers and a page of `samples` predictions.

    Returns:
        The sections `mlm` and `nsp` of metrics.json.

    Raises:
        UserError: an input is incomplete, or does not fit the model.
    """
    tokenizer, validation = load_tokenizer(paths.tokenizer), read_premasked(paths.validation)
    model = load_pretraining_model(paths.model).to(device)
    check_tokenizer(paths.model, paths.tokenizer, "pretrain")
    metrics = pretraining_report(model, validation, TokenShards(paths.tokens), tokenizer.special, device, nsp=nsp)
    write_text(paths.reports / SAMPLES, sample_page(model, validation, tokenizer, device, samples))
    Report("", HEADLINES).write(paths.reports / REPORT)
    write_json(paths.reports / METRICS, metrics)
    return metrics


def pretraining_report(
    model: PretrainingModel,
    validation: PremaskedSet,
    shards: TokenShards,
    special: SpecialIds,
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
    sums = pretraining_sums(model, validation, special, device)
    scores = pretraining_metrics(sums, nsp=nsp)
    loss = sums["mlm_loss"] / sums["masked"]
    unigram_loss, unigram_accuracy = unigram(shards.token_counts(), np.concatenate(validation.masked_labels), special)
    mlm = {
        "loss": loss,
        "perplexity": perplexity(loss),
        "accuracy": scores["mlm_accuracy"],
        "unigram_loss": unigram_loss,
        "unigram_accuracy": unigram_accuracy,
        **interval("accuracy", wilson(sums["mlm_correct"] / sums["masked"], sums["masked"])),
        "masked_tokens": sums["masked"],
    }
    nsp_accuracy = scores["nsp_accuracy"]
    training = training_pairs(shards, validation.manifest["params"]["max_seq_length"])
    return {
        "mlm": finite(mlm) | ({} if all(map(_is_number, mlm.values())) else {"diverged": True}),
        "nsp": {
            "accuracy": nsp_accuracy,
            **interval("accuracy", None if nsp_accuracy is None else wilson(nsp_accuracy, sums["pairs"])),
            "pairs": sums["pairs"],
            **pair_baselines(training, validation_pairs(validation)),
        },
    }


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
