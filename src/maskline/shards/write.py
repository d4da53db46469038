"""The stage `tokenize`: both splits of the corpus as token shards, and what there is of them."""

from itertools import zip_longest
from pathlib import Path
from typing import Any

from maskline.core.storage import MANIFEST, read_manifest, sha256, write_csv, write_json
from maskline.corpus.articles import read_articles
from maskline.shards.tokenize import sentence_histogram, write_tokens


def write_splits(
    corpus: Path, tokenizer: Path, tokens: Path, report: Path, *, language: str, shard_tokens: int, workers: int
) -> dict[str, dict[str, Any]]:
    """Write the shards of `train` and `validation` to folders of `tokens`; return what there is of each split.

    The same goes to `report`/metrics.json; sentences.csv there has a row for the documents of `sentences` to twice as
    many sentences.

    Raises:
        UserError: an input is incomplete, or a process was killed.
    """
    # Before anything that was tokenized earlier is replaced.
    source = read_manifest(corpus, "fetch")
    read_manifest(tokenizer, "tokenizer")
    provenance = {"corpus": sha256(corpus / MANIFEST), "tokenizer": sha256(tokenizer / MANIFEST)}
    # What a model learns from is named by its card. The shards of validation stay the same files, however it is named:
    # scores on what is made of them can be compared.
    named = {"provenance": source["provenance"], "licence": source["licence"]}
    metrics = {
        split: write_tokens(
            tokens / split,
            read_articles(corpus, split),
            tokenizer,
            language=language,
            shard_tokens=shard_tokens,
            workers=workers,
            provenance=provenance | (named if split == "train" else {}),
        )
        for split in ("train", "validation")
    }
    write_json(report / "metrics.json", metrics)
    octaves = enumerate(zip_longest(*(sentence_histogram(tokens / split) for split in metrics), fillvalue=0))
    rows = [{"sentences": 2**octave, "train": train, "validation": held_out} for octave, (train, held_out) in octaves]
    write_csv(report / "sentences.csv", rows, ("sentences", "train", "validation"))
    return metrics
