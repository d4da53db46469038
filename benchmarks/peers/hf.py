"""HF: training as in the documentation of `transformers`, with a loop of our own and with its `Trainer`."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.peers.peer import Batch, Feature, Peer, Recipe
from maskline.core.labels import IGNORE_INDEX
from maskline.model.bert.convert import config
from maskline.model.bert.settings import Settings
from maskline.settings.params import Params


class HuggingFace(Peer):
    """BertForPreTraining (BertForMaskedLM without sentence pairs), updated as `Trainer` does.

    The collator masks and pads each batch to its longest example. AdamW is fused, as in the defaults of `Trainer`.
    """

    def __init__(self, params: Params, tokenizer: Path, recipe: Recipe, device: torch.device) -> None:
        """Build the model of `params` for the tokenizer in a directory that the stage wrote."""
        import transformers

        architecture = "BertForPreTraining" if params.pretrain.nsp else "BertForMaskedLM"
        assert isinstance(params.model, Settings), "the peer is BERT"
        loaded = transformers.AutoTokenizer.from_pretrained(tokenizer)
        settings = transformers.BertConfig.from_dict(config(params.model, len(loaded), architecture))
        self.nsp = params.pretrain.nsp
        self.collator = transformers.DataCollatorForLanguageModeling(
            loaded,
            mlm_probability=params.masking.rate,
            mask_replace_prob=params.masking.mask,
            random_replace_prob=params.masking.random,
        )
        super().__init__(getattr(transformers, architecture)(settings), recipe, device, fused=True)

    def collate(self, features: Sequence[Feature]) -> Batch:
        """Return the collator's batch."""
        batch = dict(self.collator(features))
        if not self.nsp:
            del batch["next_sentence_label"]
        return batch

    def loss(self, batch: Batch) -> Tensor:
        """Return the model's own loss."""
        loss: Tensor = self.model(**batch).loss
        return loss


class LabelledHuggingFace(HuggingFace):
    """HF without the logits that its loss ignores: the same loss in less time, for long runs that are not timed."""

    def loss(self, batch: Batch) -> Tensor:
        """Return the same loss."""
        model: Any = self.model
        labels = batch["labels"]
        labelled = labels != IGNORE_INDEX
        encoded = model.bert(**{name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")})
        loss = F.cross_entropy(model.cls.predictions(encoded[0][labelled]), labels[labelled])
        if self.nsp:
            pairs = model.cls.seq_relationship(encoded[1])
            loss = loss + F.cross_entropy(pairs, batch["next_sentence_label"], ignore_index=IGNORE_INDEX)
        return loss


def trainer_rate(peer: HuggingFace, features: Sequence[Feature], batch: int, updates: int, warmup: int) -> float:
    """Return the real tokens per second of `updates` updates of the real `Trainer`, after `warmup` others.

    It trains `peer.model` further, on the CPU in float32, as in its documentation, in the order of its own sampler.
    """
    import tempfile

    import transformers

    stamps: list[float] = []
    tokens: list[int] = []

    class Watch(transformers.TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: Any, **__: Any) -> None:
            stamps.append(time.perf_counter())

    def collate(examples: Sequence[Feature]) -> Batch:
        tokens.append(sum(len(example["input_ids"]) for example in examples))
        return peer.collate(examples)

    with tempfile.TemporaryDirectory() as directory:
        arguments = transformers.TrainingArguments(
            directory,
            max_steps=warmup + updates,
            per_device_train_batch_size=batch,
            learning_rate=peer.recipe.peak_lr,
            weight_decay=peer.recipe.weight_decay,
            max_grad_norm=peer.recipe.clip_norm,
            warmup_steps=warmup,
            use_cpu=True,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            remove_unused_columns=False,
            disable_tqdm=True,
        )
        trainer = transformers.Trainer(
            peer.model, arguments, data_collator=collate, train_dataset=list(features), callbacks=[Watch()]
        )
        trainer.train()
    # The collator may be a batch ahead of the model: count the tokens of the updates between the two stamps.
    return sum(tokens[warmup : warmup + updates]) / (stamps[-1] - stamps[warmup - 1])
