"""Going on with masked tokens on the texts of a task, before its labels are read (Gururangan et al. 2020, sec. 4).

The encoder sees how these texts are written: their words, their length, their tone. Texts cost nothing where labels are
dear, so all of the train split are read, whatever part of the labels is used.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskline.core.labels import IGNORE_INDEX
from maskline.examples.batches import PretrainingBatch, by_length, microbatch_slices, pad
from maskline.examples.draws import Bits, draw, key
from maskline.examples.masking import Masker
from maskline.examples.settings import MaskingRates
from maskline.finetuning.objective import ExamplesInOrder
from maskline.finetuning.settings import FinetuneParams
from maskline.model.heads import PretrainingModel
from maskline.model.modes import evaluating
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.texts import EncodedTexts
from maskline.training import distributed
from maskline.training.inputs import to_inputs
from maskline.training.loop import Metrics

EVALUATION_RATE = 0.15
BATCH_TOKENS = 8192
"""Tokens that are scored at once, padding included."""


class TextsObjective(ExamplesInOrder):
    """MLM on texts, without NSP; scored on the texts of the validation split, always under the same masks."""

    loss_names: tuple[str, ...] = ("mlm_loss",)
    train_columns: tuple[str, ...] = ("step", "epoch", "tokens", "lr", "mlm_loss", "loss", "grad_norm")
    validation_columns: tuple[str, ...] = ("step", "epoch", "mlm_loss", "mlm_accuracy")

    def __init__(
        self,
        model: PretrainingModel,
        training: EncodedTexts,
        validation: EncodedTexts,
        tokenizer: LoadedTokenizer,
        recipe: FinetuneParams,
        seed: int,
        device: torch.device,
    ) -> None:
        super().__init__(training.sizes, recipe.global_batch, seed)
        self.model = model
        self.training = training
        self.validation = validation
        self.rate = recipe.text_mask_rate
        self.micro_batch = recipe.micro_batch
        self.seed = seed
        self.device = device
        self.pad = tokenizer.special.pad
        rates = MaskingRates(rate=self.rate, mask=0.8, random=0.1)
        self.masker = Masker(rates, tokenizer.special, tokenizer.vocab_size)

    def microbatches(self, step: int) -> list[PretrainingBatch]:
        """Return this process's share of update `step`."""
        epoch, rows = self.rows(step)
        keys = key(self.seed, "text masks", epoch)
        parts = microbatch_slices(len(rows), self.micro_batch, distributed.rank(), distributed.ranks())
        return [self._masked(self.training, rows[part], keys, self.rate) for part in parts]

    def _masked(self, texts: EncodedTexts, rows: NDArray[np.int64], keys: Bits, rate: float) -> PretrainingBatch:
        """Return the texts `rows` as a batch; what is drawn for a text depends on `keys` and its number alone."""
        packed = texts.packed(rows)
        input_ids, mask = pad(np.split(packed.input_ids, np.cumsum(packed.lengths)[:-1]), self.pad)
        token_type_ids = np.zeros_like(input_ids)
        token_type_ids[mask] = packed.token_type_ids
        shown, positions = self.masker(input_ids, draw(keys, rows), rate)
        return PretrainingBatch(
            input_ids=shown,
            token_type_ids=token_type_ids,
            attention_mask=mask,
            masked_positions=positions,
            masked_labels=input_ids.ravel()[positions],
            next_sentence_label=np.full(len(rows), IGNORE_INDEX),
        )

    def targets(self, batch: PretrainingBatch) -> dict[str, float]:
        """Return the masked tokens and the real tokens."""
        return {"mlm_loss": len(batch.masked_labels), "tokens": batch.tokens}

    def losses(self, batch: PretrainingBatch) -> dict[str, Tensor]:
        """Return the summed cross-entropy."""
        return {"mlm_loss": self.model.losses(to_inputs(batch, self.device))[0]}

    @torch.no_grad()
    def evaluate(self) -> Metrics:
        """Score the texts of the validation split in float32 and without dropout; every process does all of it."""
        loss = correct = masked = 0.0
        with evaluating(self.model):
            for rows in by_length(self.validation.sizes, BATCH_TOKENS):
                batch = self._masked(self.validation, rows, key(self.seed, "text evaluation"), EVALUATION_RATE)
                scores = self.model.scores(to_inputs(batch, self.device))
                loss += scores["mlm_loss"].item()
                correct += scores["mlm_correct"].item()
                masked += len(batch.masked_labels)
        return {"mlm_loss": loss / masked, "mlm_accuracy": correct / masked}

    def criterion(self, metrics: Metrics) -> float | None:
        """Return the loss."""
        return metrics["mlm_loss"]
