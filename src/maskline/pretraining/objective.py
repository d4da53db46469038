"""What the training loop needs of pretraining: masked language model and next-sentence prediction."""

from collections.abc import Iterable

import torch
from torch import Tensor

from maskline.core.labels import IGNORE_INDEX
from maskline.examples.batches import PretrainingBatch, PretrainingBatches
from maskline.examples.premasked import PremaskedSet
from maskline.model.heads import PretrainingModel
from maskline.pretraining.phases import Phases
from maskline.pretraining.scores import pretraining_metrics, pretraining_sums
from maskline.pretraining.settings import PretrainingSettings
from maskline.training import distributed
from maskline.training.inputs import to_inputs
from maskline.training.loop import Metrics

TRAIN_COLUMNS = ("step", "epoch", "tokens", "lr", "mlm_loss", "nsp_loss", "loss", "grad_norm")
VALIDATION_COLUMNS = ("step", "epoch", "mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy", "loss")


class PretrainingObjective:
    """MLM + NSP over sentence pairs, scored on the fixed validation set."""

    def __init__(
        self,
        model: PretrainingModel,
        batches: PretrainingBatches | Phases,
        validation: PremaskedSet,
        params: PretrainingSettings,
        device: torch.device,
    ) -> None:
        self.model = model
        self.batches = batches
        self.validation = validation
        self.micro_batch = params.pretrain.micro_batch
        self.masking = params.masking
        self.device = device
        self.nsp = params.pretrain.nsp
        self.loss_names: tuple[str, ...] = ("mlm_loss", "nsp_loss") if self.nsp else ("mlm_loss",)
        self.train_columns = (*TRAIN_COLUMNS, "max_seq_length") if isinstance(batches, Phases) else TRAIN_COLUMNS
        self.validation_columns = VALIDATION_COLUMNS
        self.steps = params.pretrain.total_steps(batches.updates)

    def epochs(self, step: int) -> float:
        """Return how often every example has been seen after `step` updates."""
        return self.batches.epochs(step)

    def update_ranges(self, first: int, steps: int) -> Iterable[range]:
        """Return the updates `first` to `steps` - 1 in ranges of one sequence length."""
        return self.batches.update_ranges(first, steps)

    def microbatches(self, step: int) -> list[PretrainingBatch]:
        """Return this process's share of update `step`."""
        rate = self.masking.rate_at(step, self.steps)
        return self.batches.microbatches(step, rate, self.micro_batch, distributed.rank(), distributed.ranks())

    def examples(self, step: int) -> list[int]:
        """Return the numbers of the examples of update `step`."""
        numbers: list[int] = self.batches.segments_and_keys(step)[0].numbers.tolist()
        return numbers

    def scheduled(self, step: int) -> dict[str, int]:
        """Return the sequence length of update `step`, where a run has two."""
        return {"max_seq_length": self.batches.length(step)} if isinstance(self.batches, Phases) else {}

    def targets(self, batch: PretrainingBatch) -> dict[str, float]:
        """Return the masked tokens, the labelled pairs and the real tokens of a batch."""
        pairs = int((batch.next_sentence_label != IGNORE_INDEX).sum())
        return {"mlm_loss": len(batch.masked_labels), "nsp_loss": pairs, "tokens": batch.tokens}

    def losses(self, batch: PretrainingBatch) -> dict[str, Tensor]:
        """Return the summed cross-entropies."""
        mlm, nsp = self.model.losses(to_inputs(batch, self.device))
        if not self.nsp:
            return {"mlm_loss": mlm}
        assert nsp is not None, "the check of all settings refuses pairs without a head for them"
        return {"mlm_loss": mlm, "nsp_loss": nsp}

    def evaluate(self) -> Metrics:
        """Score the fixed validation set; every process takes a part of it."""
        sums = pretraining_sums(
            self.model, self.validation, self.batches.special, self.device, distributed.rank(), distributed.ranks()
        )
        totals = distributed.sum_over_ranks(sums.values(), self.device)
        return pretraining_metrics(dict(zip(sums, totals, strict=True)), nsp=self.nsp)

    def criterion(self, metrics: Metrics) -> float | None:
        """Return the validation loss."""
        return metrics["loss"]
