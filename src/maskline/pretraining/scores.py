"""MLM and NSP on the fixed validation set."""

import math
from collections.abc import Mapping

import torch

from maskline.core.labels import IGNORE_INDEX
from maskline.examples.premasked import PremaskedSet
from maskline.model.heads import PretrainingModel, pretraining_losses
from maskline.model.modes import evaluating
from maskline.pretraining.inputs import to_inputs
from maskline.tokenization.load import SpecialIds

BATCH = 64
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
        for number, (_, batch) in enumerate(validation.batches(BATCH, special)):
            if number % ranks != rank:
                continue
            inputs = to_inputs(batch, device)
            mlm_logits, nsp_logits = model(inputs)
            mlm_loss, nsp_loss = pretraining_losses(mlm_logits, nsp_logits, inputs)
            label = inputs.next_sentence_label
            sums["mlm_loss"] += mlm_loss.item()
            sums["mlm_correct"] += (mlm_logits.argmax(1) == inputs.masked_labels).sum().item()
            sums["masked"] += len(inputs.masked_labels)
            sums["nsp_loss"] += nsp_loss.item()
            sums["nsp_correct"] += (nsp_logits.argmax(1) == label).sum().item()  # an ignored label equals no class
            sums["pairs"] += (label != IGNORE_INDEX).sum().item()
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
