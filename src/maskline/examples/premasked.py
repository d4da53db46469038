"""The fixed validation set: its pairs and masks are drawn once, so that the losses of all experiments are comparable.

`premasked.arrow` is an Arrow IPC file with a row per example:

    input_ids            list<uintN>   as the model sees them, special tokens included
    token_type_ids       list<uint8>   0 for [CLS] A [SEP], 1 for B [SEP]
    masked_positions     list<uint16>  positions in the example of the tokens to predict
    masked_labels        list<uintN>   the tokens to predict
    next_sentence_label  int8          0 = is next, 1 = random, -100 = no pair
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskline.core.errors import UserError
from maskline.core.labels import IGNORE_INDEX
from maskline.core.storage import MANIFEST, atomic, fresh_directory, read_manifest, sha256, write_manifest
from maskline.examples.batches import PretrainingBatch, PretrainingBatches, by_length, pad
from maskline.examples.masking import Masker
from maskline.examples.pairs import IS_NEXT, RANDOM, PairSource
from maskline.examples.settings import PremaskParams
from maskline.shards.store import TokenShards, id_dtype
from maskline.tokenization.load import SpecialIds, load_tokenizer

PREMASKED = "premasked.arrow"
ROWS = 1024
"""Examples per record batch. The bytes of the file depend on it."""


def premask(params: PremaskParams, tokens: Path, tokenizer: Path, directory: Path) -> dict[str, int]:
    """Draw the validation set from the shards in `tokens`, write it to `directory`, and return its counts.

    Raises:
        UserError: an input is incomplete, damaged or empty, or made with another tokenizer.
    """
    special = load_tokenizer(tokenizer).special
    shards = TokenShards(tokens)
    shards.check_tokenizer(tokenizer)
    source = PairSource(shards, params.max_seq_length, nsp=True)
    masker = Masker(params, special, shards.vocab_size)
    batches = PretrainingBatches(source, masker, special, seed=params.seed, global_batch=ROWS)
    inputs = {"tokens": sha256(tokens / MANIFEST), "tokenizer": sha256(tokenizer / MANIFEST)}
    return write_premasked(batches, params.rate, directory, {"inputs": inputs, "params": params.model_dump()})


def write_premasked(
    batches: PretrainingBatches, rate: float, directory: Path, provenance: dict[str, Any]
) -> dict[str, int]:
    """Write an example for each window of `batches`, as in epoch 0 and masked at `rate`; return the counts.

    Of two partners one gives a true pair and the other a random pair.
    """
    size = len(batches.source)
    ids = pa.from_numpy_dtype(id_dtype(batches.masker.vocab_size))
    schema = pa.schema(
        {
            "input_ids": pa.list_(ids),
            "token_type_ids": pa.list_(pa.uint8()),
            "masked_positions": pa.list_(pa.uint16()),
            "masked_labels": pa.list_(ids),
            "next_sentence_label": pa.int8(),
        }
    )
    counts = {"examples": size, "tokens": 0, "masked": 0, "is_next": 0, "random": 0, "no_pair": 0}
    fresh_directory(directory)
    with (
        atomic(directory / PREMASKED) as path,
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, schema) as writer,
    ):
        for start in range(0, size, ROWS):
            places = np.arange(start, min(start + ROWS, size))
            segments = batches.source.segments_at(batches.order, 0, places, places % 2 == 1)
            batch = batches.batch(segments, batches.mask_keys(0, segments), rate)
            writer.write_batch(pa.record_batch(_columns(batch), schema))
            counts["tokens"] += batch.tokens
            counts["masked"] += len(batch.masked_labels)
            for name, label in (("is_next", IS_NEXT), ("random", RANDOM), ("no_pair", IGNORE_INDEX)):
                counts[name] += int((batch.next_sentence_label == label).sum())
    write_manifest(directory, {**provenance, **counts, "sentences_cut": batches.source.counts["sentences_cut"]})
    return counts


def _columns(batch: PretrainingBatch) -> dict[str, Any]:
    sizes = batch.attention_mask.sum(1)
    rows, places = np.divmod(batch.masked_positions, batch.input_ids.shape[1])
    per_row = np.split(np.arange(len(rows)), np.searchsorted(rows, np.arange(1, len(sizes))))
    return {
        "input_ids": [ids[:size] for ids, size in zip(batch.input_ids, sizes, strict=True)],
        "token_type_ids": [ids[:size] for ids, size in zip(batch.token_type_ids, sizes, strict=True)],
        "masked_positions": [places[row] for row in per_row],
        "masked_labels": [batch.masked_labels[row] for row in per_row],
        "next_sentence_label": batch.next_sentence_label,
    }


@dataclass(frozen=True)
class PremaskedSet:
    """The examples of `premasked.arrow`: a list has an array for each, see the columns of the file."""

    input_ids: list[NDArray[Any]]
    token_type_ids: list[NDArray[Any]]
    masked_positions: list[NDArray[Any]]
    masked_labels: list[NDArray[Any]]
    next_sentence_label: NDArray[np.int64]
    manifest: dict[str, Any]

    def __len__(self) -> int:
        return len(self.next_sentence_label)

    def check_tokenizer(self, tokenizer: Path) -> None:
        """Check that the set was made with the tokenizer in the directory `tokenizer`.

        Raises:
            UserError: it was made with another tokenizer.
        """
        if self.manifest["inputs"]["tokenizer"] != sha256(tokenizer / MANIFEST):
            raise UserError(
                f"the validation set was made with another tokenizer than {tokenizer}: run `dvc repro premask`"
            )

    def batches(self, batch_tokens: int, special: SpecialIds) -> Iterator[tuple[NDArray[np.int64], PretrainingBatch]]:
        """Yield (rows, batch) over the whole set, at most `batch_tokens` tokens of nearly one length at a time."""
        sizes = np.array([len(ids) for ids in self.input_ids])
        for rows in by_length(sizes, batch_tokens):
            yield rows, self._batch(rows, special)

    def _batch(self, rows: NDArray[np.int64], special: SpecialIds) -> PretrainingBatch:
        input_ids, attention_mask = pad([self.input_ids[row] for row in rows], special.pad)
        token_type_ids, _ = pad([self.token_type_ids[row] for row in rows], 0)
        masked = [self.masked_positions[row] for row in rows]
        offsets = np.repeat(np.arange(len(rows)) * input_ids.shape[1], [len(places) for places in masked])
        return PretrainingBatch(
            input_ids=input_ids,
            token_type_ids=token_type_ids,
            attention_mask=attention_mask,
            masked_positions=np.concatenate(masked) + offsets,
            masked_labels=np.concatenate([self.masked_labels[row] for row in rows]).astype(np.int64),
            next_sentence_label=self.next_sentence_label[rows],
        )

    def original(self, row: int) -> NDArray[Any]:
        """Return the token ids of example number `row` without masks."""
        ids = self.input_ids[row].copy()
        ids[self.masked_positions[row]] = self.masked_labels[row]
        return ids


def read_premasked(directory: Path) -> PremaskedSet:
    """Return the validation set that the stage premask wrote.

    Raises:
        UserError: the directory is incomplete, damaged or empty.
    """
    manifest = read_manifest(directory, "premask")
    with pa.memory_map(str(directory / PREMASKED)) as source:
        table = pa.ipc.open_file(source).read_all()
    if not len(table):
        raise UserError(f"{directory} holds no examples: add articles, or hold out more (corpus.validation_fraction)")
    lists = {
        name: [row.values.to_numpy() for row in table[name]]
        for name in ("input_ids", "token_type_ids", "masked_positions", "masked_labels")
    }
    labels = table["next_sentence_label"].to_numpy().astype(np.int64)
    return PremaskedSet(**lists, next_sentence_label=labels, manifest=manifest)
