"""Synthetic token shards for measurements of speed: ids by Zipf's law, every example of the greatest length."""

from pathlib import Path

import numpy as np

from maskline.core.storage import MANIFEST, fresh_directory, sha256
from maskline.examples.premasked import premask
from maskline.settings.params import Params
from maskline.shards.store import ShardWriter
from maskline.tokenization.special import SPECIAL_TOKENS
from maskline.vocabulary.normalization import normalizer
from maskline.vocabulary.save import save
from maskline.vocabulary.wordpiece import from_vocabulary

SENTENCES = 5
"""Sentences per document, all of one length, so that two documents give pairs without padding."""


def write_data(directory: Path, params: Params, vocab_size: int, documents: int) -> Path:
    """Write tokenizer, tokens and validation set to `directory`, with the layout of `data`; return `directory`.

    Every document is one example of `pretrain.max_seq_length` tokens. The frequency of an id is proportional to
    1 / (rank + 2.7) (Mandelbrot 1953), where the rank is its place after the special tokens.
    """
    pieces = [*SPECIAL_TOKENS, *(f"w{number}" for number in range(len(SPECIAL_TOKENS), vocab_size))]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    save(from_vocabulary(vocabulary, normalizer(params.tokenizer, "en")), directory / "tokenizer", params.tokenizer, {})
    provenance = {"tokenizer": sha256(directory / "tokenizer" / MANIFEST)}

    length = (params.pretrain.max_seq_length - 3) // SENTENCES
    ordinary = np.arange(len(SPECIAL_TOKENS), vocab_size)
    frequency = 1 / (np.arange(len(ordinary)) + 2.7)
    draw = np.random.default_rng(0)
    for split, count in (("train", documents), ("validation", 8)):
        shards = fresh_directory(directory / "tokens" / split)
        ids = draw.choice(ordinary, (count, SENTENCES * length), p=frequency / frequency.sum()).astype(np.uint32)
        with ShardWriter(shards, vocab_size, 10**7, provenance) as writer:
            for number, document in enumerate(ids):
                writer.add(str(number), document, np.full(SENTENCES, length, np.int32))
    premask(params.premask, directory / "tokens" / "validation", directory / "tokenizer", directory / "validation")
    return directory
