"""Pairs of texts with scores."""

import json

from maskline.dataset.write import write_dataset
from maskline.settings.files import read_yaml
from maskline.tasks.similarity.examples import Examples
from tests.project import ROOT
from tests.tasks.small import parameters

FILE = read_yaml(ROOT / "tasks" / "stsb.yaml")
CONTRASTIVE = {"pairs:finetune.objective": "contrastive", "finetune.global_batch": 5, "finetune.micro_batch": 5}
POSITIVES = {"pairs:dataset.score_column": None, **CONTRASTIVE}


def params(changes=None):
    """Return parameters with one task, `pairs`; a key such as `pairs:dataset.score_column` is one of its file."""
    own = {"pairs:dataset.source": "files", "pairs:dataset.columns": None}
    return parameters("pairs", "similarity", FILE, own | (changes or {}))


def recipe(changes=None):
    """Return the section `finetune` of the task."""
    return params(changes).task("pairs").finetune


def write(directory, *paths, changes=None, **dataset):
    """Write the task `pairs` of the files `paths` to `directory`; return its manifest."""
    own = {"files.paths": [str(path) for path in paths], "validation_fraction": 0.3, "test_fraction": 0.3, **dataset}
    chosen = params((changes or {}) | {f"pairs:dataset.{key}": value for key, value in own.items()})
    return write_dataset(directory, "pairs", chosen.task("pairs").dataset, Examples())


def write_pairs(path, pairs, names=("sentence1", "sentence2", "score")):
    """Write tuples as JSON lines; return the path."""
    path.write_text("".join(json.dumps(dict(zip(names, pair, strict=True))) + "\n" for pair in pairs))
    return path


def columns(*pairs, names=("sentence1", "sentence2", "score")):
    """Return tuples as columns."""
    return dict(zip(names, map(list, zip(*pairs, strict=True)), strict=True))
