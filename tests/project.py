"""A copy of this project, in which tests run the pipeline."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]

COMPUTE = {"compute.device": "cpu", "compute.threads": 1, "compute.workers": 1}
"""Dotted key -> value: what the copy changes in params.yaml, and no stage depends on."""

SETTINGS = {
    "corpus.source": "files",
    "corpus.min_characters": 10,
    "corpus.validation_fraction": 0.2,
    "corpus.files.paths": ["texts/articles.txt"],
    "tasks/sentiment.yaml:dataset.source": "files",
    "tasks/sentiment.yaml:dataset.encoding": "utf-8",
    "tasks/sentiment.yaml:dataset.validation_fraction": 0.2,
    "tasks/sentiment.yaml:dataset.test_fraction": 0.2,
    "tasks/sentiment.yaml:dataset.files.paths": ["texts/reviews.csv"],
    "tokenizer.vocab_size": 130,
    "tokenizer.max_unk_rate": 0.5,
    "premask.max_seq_length": 24,
    "model.layers": 1,
    "model.hidden": 16,
    "model.intermediate": 24,
    "model.max_positions": 32,
    "pretrain.max_seq_length": 24,
    "pretrain.steps": 200,
    "pretrain.global_batch": 6,
    "pretrain.micro_batch": 3,
    "pretrain.warmup_steps": 2,
    "pretrain.evaluate_every": 100,
    "pretrain.checkpoint_every": 10,
    "pretrain.log_every": 5,
    "finetune.max_seq_length": 16,
    "finetune.epochs": 2,
    "finetune.min_steps": None,
    "finetune.global_batch": 8,
    "finetune.micro_batch": 8,
    "finetune.warmup_steps": 2,
    "evaluate.samples": 3,
    **COMPUTE,
}
"""The same for a run that is smaller still than the preset `toy`, on the texts of `write_texts`."""

GUARD = '''"""Refuse the network and write who asked for it into the file that OFFLINE names; do nothing without it."""

import os
import socket
import sys


def refuse(event, arguments):
    asks = event in {"socket.connect", "socket.sendto"} and arguments[0].family != socket.AF_UNIX
    if asks or event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        with open(os.environ["OFFLINE"], "a") as file:
            print(event, arguments, sys.argv, file=file)
        raise OSError("this test has no network")


if "OFFLINE" in os.environ:
    sys.addaudithook(refuse)
'''
"""`sitecustomize.py`, which each Python process reads first that finds it in its PYTHONPATH."""

ENVIRONMENT = {
    # A hook of git and a `make test` around this process are none of the copy's business.
    **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "MAKE", "MFLAGS"))},
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": "src",
    "DVC_NO_ANALYTICS": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{what}": "test@test" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def call(folder, command, *, check=True, **environment):
    """Run a shell command in `folder`; on a failure show what it said."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=ENVIRONMENT | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or not check, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def tracked():
    """Return the project's files, committed or about to be, as paths relative to its root."""
    listed = call(ROOT, "git ls-files -z --cached --others --exclude-standard").stdout
    return sorted(path for path in map(Path, listed.rstrip("\0").split("\0")) if (ROOT / path).is_file())


def change(folder, settings):
    """Set dotted keys in `folder`/params.yaml, or as `tasks/sentiment.yaml:finetune.epochs` in another file."""
    yaml = YAML()
    files = {}
    for key, value in settings.items():
        name, _, rest = key.rpartition(":")
        path = Path(folder) / (name or "params.yaml")
        if path not in files:
            files[path] = yaml.load(path)
        section = files[path]
        *parents, last = rest.split(".")
        for parent in parents:
            section = section[parent]
        section[last] = value
    for path, content in files.items():
        yaml.dump(content, path)


def write_texts(folder):
    """Write the articles and reviews that SETTINGS name."""
    draw = random.Random(0)
    words = [f"{stem}{end}" for stem in ("river", "house", "stone", "field", "bridge") for end in ("", "s", "ed", "er")]
    texts = Path(folder) / "texts"
    texts.mkdir()
    sentences = [" ".join(draw.choices(words, k=draw.randint(4, 9))).capitalize() + "." for _ in range(480)]
    articles = [" ".join(sentences[i : i + 4]) for i in range(0, len(sentences), 4)]
    (texts / "articles.txt").write_text("\n\n".join(articles) + "\n")
    moods = {"positive": ["good", "great", "happy", "fine"], "negative": ["bad", "awful", "sad", "poor"]}
    rows = [
        f"{' '.join(draw.choices(words + 2 * moods[label], k=7))} {number},{label}"
        for number in range(60)
        for label in moods
    ]
    (texts / "reviews.csv").write_text("\n".join(["text,sentiment", *rows]) + "\n")


def copy_project(folder):
    """Make `folder` a git repository of the working tree's code, with settings for tests and one commit."""
    for path in tracked():
        made = path.parts[0] == "reports" and path.name != "README.md"
        if made or path.parts[0] == "tests" or path.name == "dvc.lock":
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path)
    (folder / "src" / "sitecustomize.py").write_text(GUARD)
    change(folder, COMPUTE)
    call(folder, "git init -q -b main && git add -A && git commit -qm start")
    return folder
