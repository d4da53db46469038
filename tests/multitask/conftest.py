import contextlib
import copy
import json
import random
import shutil

import pytest

from maskline.dataset.write import write_dataset
from maskline.pretraining.run import pretrain
from maskline.settings.params import parse
from maskline.tasks.classification import examples as classification
from maskline.tasks.classification import task as classification_task
from maskline.tasks.similarity import examples as similarity
from maskline.tasks.similarity import task as similarity_task
from maskline.tasks.spans import examples as spans
from maskline.tasks.spans import task as spans_task
from maskline.tasks.tokens import examples as tokens
from maskline.tasks.tokens import task as tokens_task
from tests.conftest import built_once
from tests.tasks.similarity.scored import FILE as PAIRS
from tests.tasks.spans.asked import FILE as QUESTIONS
from tests.tasks.tokens.tagged import FILE as ENTITIES
from tests.tiny import set_key, settings, tiny_params, write_data
from tests.training.runs import CPU, pretraining_paths

KINDS = {"sentiment": "classification", "pairs": "similarity", "ner": "tokens", "qa": "spans"}
FACTORIES = {
    "sentiment": classification_task.make_task,
    "pairs": similarity_task.make_task,
    "ner": tokens_task.make_task,
    "qa": spans_task.make_task,
}
EXAMPLES = {"sentiment": classification, "pairs": similarity, "ner": tokens, "qa": spans}
OWN = {
    "sentiment:dataset.encoding": "utf-8",
    "sentiment:dataset.labels": ["bad", "good"],
    "sentiment:dataset.label_column": "label",
    "pairs:dataset.columns": None,
    "pairs:finetune.epochs": 1,
    "ner:dataset.types": ["LOC"],
    "qa:dataset.id_prefix": "",
    "qa:finetune.text_epochs": 0,
    "qa:finetune.max_question_tokens": 3,
    "qa:finetune.stride": 2,
    "qa:finetune.max_answer_tokens": 3,
    "multitask.tasks": [*KINDS],
    "multitask.evaluations": 2,
    "finetune.epochs": 1,
    "finetune.global_batch": 4,
    "finetune.micro_batch": 3,
}
SIZES = {"sentiment": 60, "pairs": 40, "ner": 24, "qa": 24}


def params(changes=None):
    """Return parameters with a task of each kind, `changes` as for `tiny_params`."""
    changes = OWN | (changes or {})
    content, files = settings({key: value for key, value in changes.items() if ":" not in key})
    files |= copy.deepcopy({"pairs": PAIRS, "ner": ENTITIES, "qa": QUESTIONS})
    for name in KINDS:
        files[name]["dataset"] |= {"source": "files", "validation_fraction": 0.2, "test_fraction": 0.2}
    for key, value in changes.items():
        task, _, rest = key.rpartition(":")
        if task:
            set_key(files[task], rest, value)
    return parse(content | {"tasks": KINDS}, files)


def records(name):
    """Yield the records of a task: what is to be told of a text shows in its first word."""
    draw = random.Random(name)
    for number in range(SIZES[name]):
        words = [f"w{draw.randint(30, 96)}" for _ in range(4)]
        first = draw.randint(10, 29)
        text = " ".join([f"w{first}", *words, f"w{number + 10}"])
        yield {
            "sentiment": {"text": text, "label": "good" if first < 20 else "bad"},
            "pairs": {"sentence1": text, "sentence2": f"w{draw.randint(10, 29)} {words[0]}", "score": first % 6},
            "ner": {"tokens": text.split(), "ner_tags": ["B-LOC", *["O"] * 5]},
            "qa": {
                "question": f"w{first} w{number + 10}",
                "context": text,
                "answers": {"text": [words[0]], "answer_start": [text.index(words[0])]},
            },
        }[name]


def write_task(root, name, changes=None):
    """Write the examples of a task to `root`/tasks/NAME."""
    path = root / f"{name}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records(name)))
    chosen = params({f"{name}:dataset.files.paths": [str(path)], **(changes or {})}).task(name)
    write_dataset(root / "tasks" / name, name, chosen.dataset, EXAMPLES[name].Examples())


@pytest.fixture(name="together", scope="session")
def _together(tmp_path_factory):
    """Return a folder of a pretrained model and a task of each kind; a test that changes it copies it."""

    def build(root):
        write_data(root)
        for name in KINDS:
            write_task(root, name)
        with contextlib.chdir(root):  # where `.runs` goes
            pretrain(tiny_params({"pretrain.steps": 4}).pretraining(), pretraining_paths(root), CPU)

    return built_once(tmp_path_factory, "together", build)


@pytest.fixture(name="mine")
def _mine(together, tmp_path, monkeypatch):
    """Return a copy of the folder, in the current one, where `.runs` and `.timings` go."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(together, tmp_path / "data")
