"""MLM and NSP on the fixed validation set."""

import math
from collections.abc import Mapping

import torch

from maskline.core.labels import IGNORE_INDEX
from maskline.examples.premasked import PremaskedSet
from maskline.model.heads import PretrainingModel
from maskline.model.modes import evaluating
from maskline.tokenization.load import SpecialIds
from maskline.training.inputs import to_inputs

BATCH_TOKENS = 8192
"""Tokens that are scored at once, padding included; a longer example is scored alone."""
Metrics = dict[str, float | None]


@torch.no_grad()
def pretraining_sums(
    model: PretrainingModel,
    validation: PremaskedSet,
    special: SpecialIds,
    device: torch.device,
    rank: int = 0,
    ranks: int = 1,
) -> dict[str, float]:
    """Return summed losses (nats), correct predictions and targets over the part of `validation` that is `rank`'s.

    Always in float32 and without dropout, whatever training uses; no random number is drawn.
    """
    sums = dict.fromkeys(("mlm_loss", "mlm_correct", "masked", "nsp_loss", "nsp_correct", "pairs"), 0.0)
    with evaluating(model):
        for number, (_, batch) in enumerate(validation.batches(BATCH_TOKENS, special)):
            if number % ranks != rank:
                continue
            inputs = to_inputs(batch, device)
            for name, value in model.scores(inputs).items():
                sums[name] += value.item()
            sums["masked"] += len(inputs.masked_labels)
            sums["pairs"] += (inputs.next_sentence_label != IGNORE_INDEX).sum().item()
    return sums


def pretraining_metrics(sums: Mapping[str, float], *, nsp: bool) -> Metrics:
    """Return means of `pretraining_sums`: losses in nats per masked token and per pair; None where there is none."""
    has_pairs = nsp and sums["pairs"] > 0
    mlm_loss = sums["mlm_loss"] / sums["masked"]
    nsp_loss = sums["nsp_loss"] / sums["pairs"] if has_pairs else None
    return {
        "mlm_loss": mlm_loss,
        "mlm_accuracy": sums["mlm_correct"] / sums["masked"],
        "nsp_loss": nsp_loss,
        "nsp_accuracy": sums["nsp_correct"] / sums["pairs"] if has_pairs else None,
        "loss": mlm_loss + (nsp_loss or 0.0),
    }


def perplexity(loss: float) -> float | None:
    """Return e to the loss per masked token (nats); None where it overflows."""
    try:
        return math.exp(loss)
    except OverflowError:
        return None
