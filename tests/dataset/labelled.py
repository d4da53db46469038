"""Labelled texts as the stage `dataset` writes them."""

import json

from maskline.dataset.read import read_dataset
from maskline.dataset.write import write_dataset
from maskline.tasks.classification.examples import Examples
from tests.tiny import tiny_params

LABELS = ["bad", "good"]
PAIRS = [(f"text number {i}", LABELS[i % 2]) for i in range(60)]


def settings(**changes):
    """Return the section `dataset` for labelled texts; `files={"paths": ...}` and the like are merged in."""
    values = {"source": "files", "encoding": "utf-8", "labels": LABELS, "files.paths": []}
    values |= {"validation_fraction": 0.3, "test_fraction": 0.3} | changes
    return tiny_params({f"sentiment:dataset.{key}": value for key, value in values.items()}).task("sentiment").dataset


def write_pairs(path, pairs):
    """Write (text, label) as JSON lines; return the path."""
    lines = [json.dumps({"text": text, "sentiment": label}) + "\n" for text, label in pairs]
    path.write_text("".join(lines))
    return path


def write(directory, pairs, held_out=None, **changes):
    """Write `pairs` as the task `mood` to `directory`, with splits of the source's own (name -> pairs)."""
    directory.parent.mkdir(exist_ok=True)
    parts = {"paths": pairs} | {f"{split}_paths": others for split, others in (held_out or {}).items()}
    files = {
        f"files.{key}": [str(write_pairs(directory.with_name(f"{directory.name}-{key}.jsonl"), part))]
        for key, part in parts.items()
    }
    return write_dataset(directory, "mood", settings(**files | changes), Examples())


def everything(directory):
    """Return split -> its texts with the indices of their labels."""
    splits = read_dataset(directory, "mood").splits
    return {split: list(zip(part["text"], part["label"], strict=True)) for split, part in splits.items()}
