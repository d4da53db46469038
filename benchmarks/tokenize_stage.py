"""The stage `tokenize`, with sentence splitting and writing, against tokenizing alone; same text, all cores."""

import os
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.arabic import ABSENT, Arabic, arabic, are_there
from benchmarks.measure import Row, against, child, interleaved
from benchmarks.report import cores
from maskline.corpus.articles import read_articles
from maskline.sentences.splitter import split_sentences
from maskline.settings.params import load
from maskline.shards.store import TokenShards
from maskline.shards.tokenize import write_tokens
from maskline.tokenization.load import load_tokenizer

SUBJECT = "tokenize stage"
ARTICLES = 1000
"""Articles that a peer is given at once."""
TARGETS = {"encode_batch_fast": 0.85, "encode_batch": None, "datasets.map": 1.2}
MEMORY = "peak memory at 200 MB of text over that at 10 MB"
FLAT = 1.1
"""Greatest ratio that counts as constant memory: peaks differ by a tenth between runs."""


def rows() -> list[Row]:
    """Measure speed on all articles, and the memory of the command on 10 MB and on 200 MB."""
    if not are_there():
        peers = [*TARGETS.items(), (MEMORY, FLAT)]
        return [Row(SUBJECT, peer, None, target, note=ABSENT) for peer, target in peers]
    data = arabic()
    return [*speed(data), memory(data)]


def speed(data: Arabic) -> list[Row]:
    """Return the rows of the stage's speed over that of each peer, after a check that all ids are equal."""
    contest = Contest(data)
    with tempfile.TemporaryDirectory() as directory:
        contest.check(Path(directory))
        series = interleaved(contest.contenders(Path(directory)), "MB", warmup=0)  # the check was a warm-up
    ours = series.pop("ours")
    note = f"{contest.megabytes:.0f} MB of Arabic, every id checked"
    return [against(SUBJECT, ours, theirs, TARGETS[name], note=note) for name, theirs in series.items()]


class Contest:
    """The stage and its peers, on the same articles."""

    def __init__(self, data: Arabic) -> None:
        self.data = data
        self.backend = load_tokenizer(data.tokenizer).backend
        self.backend.encode_special_tokens = True
        self.texts = [article.text for article in read_articles(data.corpus, None)]
        self.megabytes = sum(len(text.encode()) for text in self.texts) / 1e6

    def contenders(self, scratch: Path) -> dict[str, Any]:
        """Return the contenders for `interleaved`; each returns the megabytes of text that it read."""
        return {
            "ours": lambda: self.stage(scratch / "tokens"),
            "encode_batch_fast": lambda: self.raw(self.backend.encode_batch_fast),
            "encode_batch": lambda: self.raw(self.backend.encode_batch),
            "datasets.map": lambda: self.datasets_map(scratch / "map"),
        }

    def stage(self, directory: Path) -> float:
        """Tokenize as the stage does, from Parquet files to shards."""
        articles = read_articles(self.data.corpus, None)
        write_tokens(
            directory,
            articles,
            self.data.tokenizer,
            language="ar",
            shard_tokens=load(self.data.params).tokenize.shard_tokens,
            workers=cores(),
            provenance={},
        )
        return self.megabytes

    def raw(self, encode: Any) -> float:
        """Tokenize articles in memory, on threads, and keep nothing."""
        # datasets.map leaves "false" in the environment of C, which os.environ does not show.
        os.putenv("TOKENIZERS_PARALLELISM", "true")
        for texts in _batches(self.texts):
            encode(texts, add_special_tokens=False)
        return self.megabytes

    def datasets_map(self, directory: Path) -> float:
        """Tokenize as in the documentation of `datasets`, with a process for each core, from Parquet to Arrow files."""
        from datasets import Dataset, disable_progress_bars

        disable_progress_bars()
        directory.mkdir(exist_ok=True)
        files = [str(path) for path in sorted(self.data.corpus.glob("*.parquet"))]
        dataset = Dataset.from_parquet(files, columns=["text"], cache_dir=str(directory))
        dataset.map(
            _encode,
            batched=True,
            num_proc=cores(),
            remove_columns=["text"],
            fn_kwargs={"tokenizer": str(self.data.tokenizer)},
            cache_file_name=str(directory / "mapped.arrow"),
            load_from_cache_file=False,
        )
        return self.megabytes

    def check(self, scratch: Path) -> None:
        """Check that the stage writes the same ids as the tokenizer gives for the same sentences.

        Raises:
            RuntimeError: it writes other ids.
        """
        self.stage(scratch / "tokens")
        shards = iter(TokenShards(scratch / "tokens"))
        written = np.concatenate([np.asarray(shard.tokens) for shard in shards])
        if not np.array_equal(written, self._ids()):
            raise RuntimeError("the stage writes other ids than the tokenizer gives")

    def _ids(self) -> NDArray[np.uint32]:
        sentences = [sentence for text in self.texts for sentence in split_sentences(text, "ar")]
        encodings = (
            encoding
            for texts in _batches(sentences)
            for encoding in self.backend.encode_batch_fast(texts, add_special_tokens=False)
        )
        return np.concatenate([np.array(encoding.ids, np.uint32) for encoding in encodings])


def memory(data: Arabic) -> Row:
    """Return the row of the command's peak memory, with its processes, for 200 MB of text over that for 10 MB."""
    with tempfile.TemporaryDirectory() as directory:
        peaks = [_peak(data, corpus, Path(directory)) for corpus in (data.small, data.large)]
    small, large = (f"{peak / 1e6:,.0f} MB" for peak in peaks)
    note = f"the command and its {cores()} processes together: {large} at 200 MB, {small} at 10 MB"
    return Row(SUBJECT, MEMORY, peaks[1] / peaks[0], FLAT, "at most", note=note)


def _peak(data: Arabic, corpus: Path, scratch: Path) -> int:
    paths = {"params": data.params, "corpus": corpus, "tokenizer": data.tokenizer}
    paths |= {"tokens": scratch / "out", "report": scratch / "report"}
    options = [f"--{name}={path}" for name, path in paths.items()]
    return child([sys.executable, "-m", "pipeline.tokenize", *options]).peak_bytes


def _batches(texts: list[str]) -> Iterator[list[str]]:
    articles = iter(texts)
    while batch := list(islice(articles, ARTICLES)):
        yield batch


def _encode(rows: dict[str, list[str]], tokenizer: str) -> dict[str, Any]:
    """Tokenize a batch in a process of `datasets`."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each process has a core
    if tokenizer not in _loaded:
        from transformers import AutoTokenizer

        _loaded[tokenizer] = AutoTokenizer.from_pretrained(tokenizer)
    encoded = _loaded[tokenizer](rows["text"], add_special_tokens=False, return_attention_mask=False)
    return {"input_ids": encoded["input_ids"]}


_loaded: dict[str, Any] = {}
