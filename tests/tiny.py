"""Data and parameters of odd, tiny sizes: a vocabulary of 97, sequences of 24, two layers of 16."""

import copy
import random
from pathlib import Path

import numpy as np
from ruamel.yaml import YAML

from maskline.core.storage import MANIFEST, fresh_directory, sha256
from maskline.examples.premasked import premask
from maskline.settings.files import read_yaml
from maskline.settings.params import PARAMS, parse, task_files
from maskline.shards.store import ShardWriter
from maskline.tokenization.load import SpecialIds
from maskline.tokenization.special import SPECIAL_TOKENS
from maskline.vocabulary.normalization import normalizer
from maskline.vocabulary.save import save
from maskline.vocabulary.settings import TokenizerParams
from maskline.vocabulary.wordpiece import from_vocabulary

VOCAB_SIZE = 97
SPECIAL = SpecialIds(pad=0, unk=1, cls=2, sep=3, mask=4)
ORDINARY = range(5, VOCAB_SIZE)
REFERENCE = read_yaml(PARAMS)
TASK_FILES = task_files(REFERENCE)
del TASK_FILES["sentiment"]["finetune"]["text_epochs"]  # what SETTINGS and changes say of it counts
SETTINGS = {
    "premask.max_seq_length": 24,
    "model.layers": 2,
    "model.hidden": 16,
    "model.heads": 2,
    "model.intermediate": 24,
    "model.max_positions": 32,
    "pretrain.max_seq_length": 24,
    "pretrain.steps": 12,
    "pretrain.global_batch": 6,
    "pretrain.micro_batch": 3,
    "pretrain.warmup_steps": 2,
    "pretrain.evaluate_every": 4,
    "pretrain.checkpoint_every": 3,
    "pretrain.log_every": 2,
    "masking.rate": 0.15,
    "masking.final_rate": None,
    "pretrain.precision": "fp32",
    "finetune.precision": "fp32",
    "finetune.max_seq_length": 12,
    "finetune.epochs": 2,
    "finetune.min_steps": None,
    "finetune.global_batch": 8,
    "finetune.micro_batch": 3,
    "finetune.warmup_steps": 2,
    "compute.device": "cpu",
    "compute.threads": 1,
    "compute.progress": "lines",
}
"""Dotted key -> value: what differs from params.yaml."""
MODERNBERT = {
    f"{section}.{key}": value
    for section, values in read_yaml(Path("presets/modernbert.yaml")).items()
    for key, value in values.items()
} | {"model.layers": 3, "model.hidden": 20, "model.intermediate": 14, "model.neighbour_heads": 0}
"""The same for the other architecture: its preset, in odd and tiny sizes."""


def set_key(content, key, value):
    """Set a dotted key of nested dictionaries."""
    *parents, last = key.split(".")
    for parent in parents:
        content = content[parent]
    content[last] = value


def settings(changes=None):
    """Return the content of params.yaml with SETTINGS and then `changes` in it, and that of the tasks' files, by task.

    A key such as `sentiment:finetune.epochs` is one of the file of a task.
    """
    content, files = copy.deepcopy((REFERENCE, TASK_FILES))
    for key, value in (SETTINGS | (changes or {})).items():
        task, _, rest = key.rpartition(":")
        set_key(files[task] if task else content, rest, value)
    return content, files


def write_settings(folder, changes=None):
    """Write `settings` to `folder` as params.yaml and the files of the tasks."""
    content, files = settings(changes)
    (folder / "tasks").mkdir(exist_ok=True)
    for path, part in (("params.yaml", content), *((f"tasks/{name}.yaml", file) for name, file in files.items())):
        with (folder / path).open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump(part, file)


def tiny_params(changes=None):
    """Return `settings` as parameters."""
    return parse(*settings(changes))


def write_shards(directory, documents, shard_tokens=10**6, vocab_size=VOCAB_SIZE, tokenizer=None):
    """Write documents, lists of sentences that are lists of ids, to a new directory of shards."""
    provenance = {"tokenizer": sha256(tokenizer / MANIFEST)} if tokenizer else {}
    fresh_directory(directory)
    with ShardWriter(directory, vocab_size, shard_tokens, provenance) as writer:
        for number, sentences in enumerate(documents):
            tokens = np.array([token for sentence in sentences for token in sentence], np.uint32)
            writer.add(str(number), tokens, np.array([len(sentence) for sentence in sentences], np.int32))
    return directory


def unpadded(input_ids, token_type_ids, attention_mask):
    """Return padded tensors, (B, T) each, as an encoder takes them: ids and types (N,), and their layout."""
    from maskline.model.attention import Layout

    return input_ids[attention_mask], token_type_ids[attention_mask], Layout.of(attention_mask.sum(1))


def random_documents(count, seed=0, sentences=6, tokens=9):
    """Return `count` documents of 1 to `sentences` sentences of 1 to `tokens` tokens, each document over a few ids."""
    draw = random.Random(seed)
    documents = []
    for _ in range(count):
        ids = draw.sample(ORDINARY, 6)
        documents.append([draw.choices(ids, k=draw.randint(1, tokens)) for _ in range(draw.randint(1, sentences))])
    return documents


def tokenizer_params(**changes):
    """Return the section tokenizer of params.yaml with `changes`."""
    return TokenizerParams(**(REFERENCE["tokenizer"] | changes))


def write_tokenizer(directory):
    """Write a tokenizer of the words w5 to w96, whose ids their numbers are."""
    params = tokenizer_params()
    pieces = [*SPECIAL_TOKENS, *(f"w{number}" for number in ORDINARY)]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    save(from_vocabulary(vocabulary, normalizer(params, "en")), directory, params, {})
    return directory


def write_data(root):
    """Write what pretrain reads: tokenizer, tokens/train, tokens/validation and validation."""
    tokenizer = write_tokenizer(root / "tokenizer")
    write_shards(root / "tokens" / "train", random_documents(40), shard_tokens=200, tokenizer=tokenizer)
    write_shards(root / "tokens" / "validation", random_documents(12, seed=1), tokenizer=tokenizer)
    premask(tiny_params().premask, root / "tokens" / "validation", tokenizer, root / "validation")
    return root
