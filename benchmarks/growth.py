"""The growth of time and memory with the corpus, the number of layers, and the sequence length.

Growth counts as linear if no median is more than a tenth away from a straight line.

- Corpus: seconds to make a quarter of an epoch's batches from shards, against the tokens of the corpus.
- Layers: seconds per token of an update, against the number of layers. The cost of the vocabulary is the same for all.
- Length: seconds per token, against the length. Every update has about the same number of tokens, in more or fewer
  sequences. Attention compares a token with all tokens of its sequence, so the time of a token grows with the length,
  also linearly; the row says how much.
"""

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from benchmarks.corpus import reference_data
from benchmarks.measure import SAMPLED_EVERY_SECONDS, Row, Series, child, interleaved
from benchmarks.ours import Ours
from benchmarks.report import cores
from benchmarks.synthetic import write_data
from maskline.core.storage import MANIFEST, fresh_directory, sha256
from maskline.settings.files import read_yaml
from maskline.settings.params import PARAMS, load, parse
from maskline.shards.store import ShardWriter, TokenShards

COPIES = (1, 4, 16)
LAYERS = (1, 2, 4, 8)
LENGTHS = (32, 64, 128, 256, 512)
TOKENS = 4096
"""Tokens of one update, about."""
VOCAB_SIZE = 8_000
LINEAR = 0.1
"""Greatest distance of a median from the line, as a share of the median."""
FLAT = 1.1
UPDATES = 3
"""Updates in one turn."""
REPETITIONS = 5


def rows() -> list[Row]:
    """Measure all three."""
    return [*corpus(), layers(), length()]


def corpus() -> list[Row]:
    """Return the rows of time and memory for 1, 4 and 16 copies of the default corpus."""
    found: dict[int, list[dict[str, float]]] = {copies: [] for copies in COPIES}
    with tempfile.TemporaryDirectory() as folder:
        data = {copies: repeated(reference_data(), Path(folder) / str(copies), copies) for copies in COPIES}
        for _ in range(REPETITIONS):
            for copies, runs in found.items():
                runs.append(json.loads(child([sys.executable, "-m", "benchmarks.growth", data[copies]]).output))
    tokens, own = ([median(run[key] for run in found[copies]) for copies in COPIES] for key in ("tokens", "own_bytes"))
    each = (own[-1] - own[0]) / (tokens[-1] - tokens[0])
    note = (
        f"the largest memory of its own that pretraining takes is {own[0] / 1e6:,.0f} MB from {tokens[0] / 1e6:,.1f} M "
        f"tokens and {own[-1] / 1e6:,.0f} MB from {tokens[-1] / 1e6:,.1f} M, {each:.2f} bytes for each further token; "
        "the shards are mapped, which the system takes back when it needs to"
    )
    seconds = {f"{copies}x": [run["seconds"] for run in runs] for copies, runs in found.items()}
    return [
        straight("growth, corpus", tokens, seconds, "s per token"),
        Row("growth, corpus", f"memory of {COPIES[-1]}x over 1x", own[-1] / own[0], FLAT, "at most", note=note),
    ]


def layers() -> Row:
    """Return the row of time for 1 to 8 layers."""
    sections = {f"{count} layers": {"model": {"layers": count}} for count in LAYERS}
    return straight("growth, layers", LAYERS, seconds_per_token(sections), "s per layer and token")


def length() -> Row:
    """Return the row of time for sequences of 32 to 512 tokens."""
    sections = {
        f"length {longest}": {
            "model": {"max_positions": longest},
            "premask": {"max_seq_length": longest},
            "pretrain": {
                "max_seq_length": longest,
                "global_batch": TOKENS // longest,
                "micro_batch": TOKENS // longest,
            },
        }
        for longest in LENGTHS
    }
    seconds = seconds_per_token(sections)
    first, *_, last = map(median, seconds.values())
    note = f"a token of {LENGTHS[-1]} takes {last / first:.2f} times as long as one of {LENGTHS[0]}"
    return straight("growth, length", LENGTHS, seconds, "s per token and token of its sequence", note)


def straight(
    subject: str, x: Sequence[float], seconds: Mapping[str, Sequence[float]], unit: str, note: str = ""
) -> Row:
    """Return the row of the greatest distance from a straight line of the medians of `seconds`, measured at `x`."""
    y = np.array([median(values) for values in seconds.values()])
    slope, start = np.polyfit(x, y, 1, w=1 / y)
    off = np.abs(slope * np.asarray(x) + start - y) / y
    line = f"line: {start:.3g} s + {slope:.3g} {unit}"
    series = tuple(Series(name, "s", tuple(values)) for name, values in seconds.items())
    return Row(
        subject, "straight line", float(off.max()), LINEAR, "at most", series, f"{line}; {note}" if note else line
    )


def seconds_per_token(sections: Mapping[str, dict[str, dict[str, Any]]]) -> dict[str, list[float]]:
    """Return the seconds per token of an update in every turn.

    `sections` has, for each name, the sections of params.yaml in which the parameters differ from the reference run.
    """
    torch.set_num_threads(cores())
    with tempfile.TemporaryDirectory() as folder:
        contenders = {name: _updates(changes, Path(folder) / name) for name, changes in sections.items()}
        series = interleaved(contenders, "tokens", repetitions=REPETITIONS)
    return {name: [1 / rate for rate in rates.values] for name, rates in series.items()}


def _updates(changes: dict[str, dict[str, Any]], scratch: Path) -> Callable[[], float]:
    content = read_yaml(PARAMS)
    for section, values in changes.items():
        content[section] |= values
    recipe = content["finetune"]
    recipe["max_seq_length"] = min(recipe["max_seq_length"], content["model"]["max_positions"])
    params = parse(content | {"tasks": {}}, {})
    documents = 4 * params.pretrain.global_batch
    ours = Ours(params, write_data(scratch, params, VOCAB_SIZE, documents), torch.device("cpu"))
    return lambda: float(sum(ours.update() for _ in range(UPDATES)))


def repeated(data: Path, folder: Path, copies: int) -> Path:
    """Make `folder` a copy of `data` in which the training documents occur `copies` times; return it."""
    for name in ("tokenizer", "validation"):
        folder.mkdir(exist_ok=True)
        (folder / name).symlink_to((data / name).resolve())
    shards, directory = TokenShards(data / "tokens" / "train"), fresh_directory(folder / "tokens" / "train")
    provenance = {"tokenizer": sha256(data / "tokenizer" / MANIFEST)}
    with ShardWriter(directory, shards.vocab_size, load(PARAMS).tokenize.shard_tokens, provenance) as writer:
        for copy in range(copies):
            for part, shard in enumerate(shards):
                starts = shard.document_offsets[1:-1]
                documents = np.split(shard.tokens, shard.sentence_offsets[starts])
                lengths = np.split(np.diff(shard.sentence_offsets), starts)
                for number, (tokens, sentences) in enumerate(zip(documents, lengths, strict=True)):
                    writer.add(f"{copy}-{part}-{number}", tokens, sentences)
    return folder


def train_a_little(data: Path) -> dict[str, float]:
    """Make a quarter of an epoch's batches, take some updates, and return the time and memory that this took."""
    peak, ended = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(SAMPLED_EVERY_SECONDS):
            peak = max(peak, _own_bytes())

    watcher = threading.Thread(target=watch, daemon=True)  # a daemon, so that an error ends the process
    watcher.start()
    started = time.perf_counter()
    ours = Ours(load(PARAMS), data, torch.device("cpu"))
    steps = ours.objective.batches.updates(1)
    for step in range(steps // 4):
        ours.objective.microbatches(step)
    seconds = time.perf_counter() - started
    for _ in range(UPDATES):
        ours.update()
    ended.set()
    watcher.join()
    tokens = TokenShards(data / "tokens" / "train").manifest["tokens"]
    return {"tokens": tokens, "seconds": seconds, "own_bytes": max(peak, _own_bytes())}


def _own_bytes() -> int:
    """Return the bytes of this process in memory that are not mapped from a file."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    kilobytes = next(line for line in lines if line.startswith("RssAnon:")).split()[1]
    return int(kilobytes) * 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(train_a_little(Path(sys.argv[1]))))
