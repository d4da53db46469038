"""What several tests build on: a run's reports in miniature, wheels in place of the package index, a tiny project.

And how tests that run side by side share it.
"""

import fcntl
import gc
import math
import os
import shutil
import signal
import zipfile
from pathlib import Path
from random import Random

import pytest
from ruamel.yaml import YAML

from maskline.core.scores import CurveSpec, FigureSpec, Headline, Report
from maskline.core.storage import MANIFEST, sha256, write_csv, write_json
from maskline.settings.files import read_yaml
from maskline.settings.params import load
from tests.browser import ABSENT, CHROMIUM, DRIVER, chromium
from tests.project import ROOT, call, change, copy_project

# A shell lets what runs in its background ignore Ctrl-C, and so would the commands that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Before torch is loaded, here and in the commands that tests run: tiny tensors gain nothing from threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Selenium brings trio, whose plugin for hypothesis warns, and no test uses it.
os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")


def pytest_collection_modifyitems(items):
    """Let the files begin that take longest, so that no process is left with one of them in the end."""
    long = {item.path for item in items if "reproduced" in item.fixturenames}
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish():
    """Spare collections of garbage what all tests have imported: a run that changes its data collects at once."""
    gc.collect()
    gc.freeze()


@pytest.fixture(name="browser", scope="module")
def _browser():
    """Return a headless Chromium; where there is none, the test is skipped."""
    if not (CHROMIUM and DRIVER):
        pytest.skip(ABSENT)
    with chromium() as browser:
        yield browser


@pytest.fixture(name="stop_at")
def _stop_at(monkeypatch):
    """Return a function that has runs of an objective end after some updates, as Ctrl-C ends them.

    It takes the class, and how many updates all runs have by then. It returns the list of updates, which grows.
    """

    def stop_at(objective, *counts):
        real, updates = objective.microbatches, []

        def stopping(made, step):
            updates.append(step)
            if len(updates) in counts:
                os.kill(os.getpid(), signal.SIGINT)
            return real(made, step)

        monkeypatch.setattr(objective, "microbatches", stopping)
        return updates

    return stop_at


def built_once(tmp_path_factory, name, build):
    """Return a folder that `build` fills in the first process that asks; all may read it, and none may change it."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, whole = base / name, base / f"{name}.whole"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            build(folder)
            whole.touch()
    return folder


PRETRAIN_TRAIN = ("step", "epoch", "tokens", "lr", "mlm_loss", "nsp_loss", "loss", "grad_norm")
PRETRAIN_VALIDATION = ("step", "mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy", "loss")


def write_reports(
    folder, *, mlm=(6.0, 5.0, 4.5), nsp=(0.69, 0.65, 0.6), labels=("negative", "positive"), tasks=("sentiment",)
):
    """Write `folder`/reports with one validation row per loss; None is an empty field."""
    reports = Path(folder) / "reports"
    outcomes = {"train": 900, "validation": 100, "short": 7, "duplicate_text": 0, "near_duplicate": 30}
    rows = [{"outcome": outcome, "articles": articles} for outcome, articles in outcomes.items()]
    write_csv(reports / "corpus" / "articles.csv", rows, ("outcome", "articles"))
    rows = [{"characters": 2**i, "articles": articles} for i, articles in enumerate((0, 0, 200, 700, 100))]
    write_csv(reports / "corpus" / "lengths.csv", rows, ("characters", "articles"))
    rows = [{"sentences": 2**i, "train": train, "validation": 30} for i, train in enumerate((20, 400, 480))]
    write_csv(reports / "tokenize" / "sentences.csv", rows, ("sentences", "train", "validation"))
    train = [{"step": 10 * i, "mlm_loss": 7 - i / 20, "nsp_loss": nsp and 0.7, "loss": 7.7} for i in range(1, 31)]
    if not nsp:
        train = [row | {"nsp_loss": None} for row in train]
    write_csv(reports / "pretrain" / "train.csv", train, PRETRAIN_TRAIN)
    validation = [
        {"step": 100 * i, "mlm_loss": loss, "nsp_loss": pair, "loss": None if loss is None else loss + (pair or 0)}
        for i, (loss, pair) in enumerate(zip(mlm, nsp or [None] * len(mlm), strict=True), 1)
    ]
    write_csv(reports / "pretrain" / "validation.csv", validation, PRETRAIN_VALIDATION)
    write_json(reports / "pretrain" / "metrics.json", {"steps": 300, "diverged": mlm[-1] is None})
    loss = mlm[-1]
    metrics = {
        "mlm": {
            "loss": loss,
            "perplexity": None if loss is None else math.exp(loss),
            "accuracy": 0.25,
            "unigram_loss": 6.9,
            "unigram_accuracy": 0.06,
        },
        "nsp": {"accuracy": 0.7 if nsp else None, "overlap_accuracy": 0.6, "length_accuracy": 0.5},
    }
    write_json(reports / "evaluate" / "metrics.json", metrics)
    Report("", HEADLINES).write(reports / "evaluate" / "report.json")
    for task in tasks:
        write_task_reports(reports / "tasks" / task, task, labels)
    return reports


HEADLINES = (
    Headline("mlm.loss", "MLM loss (nats)", "lower", {"mlm.unigram_loss": "unigram frequencies"}),
    Headline("mlm.accuracy", "MLM accuracy", "higher", {"mlm.unigram_accuracy": "most frequent token"}),
    Headline("mlm.perplexity", "MLM perplexity", "lower"),
    Headline(
        "nsp.accuracy",
        "NSP accuracy",
        "higher",
        {"nsp.overlap_accuracy": "word overlap", "nsp.length_accuracy": "sentence lengths"},
    ),
)


def write_task_reports(folder, task, labels=("negative", "positive")):
    """Write the reports of a classification task to `folder`."""
    for stage, shift in (("finetune", 0.0), ("scratch", 0.1)):
        rows = [{"step": 10 * i, "epoch": i / 10, "loss": shift + 1 / i} for i in range(1, 31)]
        write_csv(folder / stage / "train.csv", rows, ("step", "epoch", "lr", "loss", "grad_norm"))
        rows = [{"step": 100 * i, "epoch": i, "loss": 0.4, "accuracy": 0.8 - shift, "macro_f1": 0.7} for i in (1, 2, 3)]
        write_csv(folder / stage / "validation.csv", rows, ("step", "epoch", "loss", "accuracy", "macro_f1"))
    pairs = [{"label": a, "predicted": b, "count": 90 if a == b else 10} for a in labels for b in labels]
    write_csv(folder / "score" / "confusion.csv", pairs, ("label", "predicted", "count"))
    write_json(
        folder / "metrics.json",
        {"accuracy": 0.88, "macro_f1": 0.85, "majority_accuracy": 0.6, "scratch_accuracy": 0.86},
    )
    against = {"scratch_accuracy": "without pretraining", "majority_accuracy": "majority class"}
    Report(
        task,
        [
            Headline("accuracy", "accuracy", "higher", against),
            Headline("macro_f1", "macro-F1", "higher", {"scratch_macro_f1": "without pretraining"}),
        ],
        [FigureSpec("confusion", "matrix", "confusion.csv", "confusion", x="predicted", y="label", value="count")],
        [CurveSpec("accuracy", "accuracy"), CurveSpec("macro_f1", "macro-F1")],
    ).write(folder / "score" / "report.json")


@pytest.fixture(name="write_reports")
def _write_reports():
    return write_reports


@pytest.fixture(scope="session", name="reproduced")
def _reproduced(tmp_path_factory):
    """The preset `toy`, run without a network and committed; it is shared: tests experiment in a copy."""

    def build(folder):
        copy_project(folder)
        asked = folder / ".git" / "asked"
        call(folder, "dvc exp run $(python -m pipeline.preset toy)", OFFLINE=str(asked))
        assert not asked.exists(), asked.read_text()
        call(folder, "git add -A && git commit -qm reference")

    return built_once(tmp_path_factory, "reproduced", build)


@pytest.fixture(name="publish")
def _publish(tmp_path, monkeypatch):
    return publisher(tmp_path / "index", monkeypatch)


def publisher(index, monkeypatch):
    """Make pip see a folder in place of its index; return a function that puts a wheel there and gives its SHA-256."""
    index.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))

    def publish(package, members, version="1.0"):
        wheel = index / f"{package.replace('-', '_')}-{version}-py3-none-any.whl"
        info = f"{package.replace('-', '_')}-{version}.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
            for name, content in members.items():
                archive.writestr(name, content)
        return sha256(wheel)

    return publish


TINY = {
    "tokenizer": {"vocab_size": 150, "min_frequency": 1},
    "premask": {"max_seq_length": 32},
    # Weights this large make a model that nothing trained tell its inputs apart.
    "model": {
        "layers": 1,
        "hidden": 16,
        "heads": 2,
        "intermediate": 32,
        "max_positions": 32,
        "initializer_range": 0.5,
    },
    "pretrain": {
        "max_seq_length": 32,
        "steps": 4,
        "warmup_steps": 1,
        "global_batch": 8,
        "micro_batch": 4,
        "evaluate_every": 2,
        "checkpoint_every": 2,
        "log_every": 1,
    },
    "evaluate": {"samples": 3},
    "compute": {"device": "cpu", "threads": 1, "workers": 1, "progress": "lines"},
}
TINY_TASK = {"max_seq_length": 16, "epochs": 1, "warmup_steps": 1, "global_batch": 8, "micro_batch": 4}


def write_params(path, **sections):
    """Write the reference params.yaml to `path` with the values of TINY, and then those of `sections`, in place."""
    content = read_yaml(Path(__file__).parents[1] / "params.yaml")
    content["finetune"] |= TINY_TASK
    for changes in (TINY, sections):
        for section, values in changes.items():
            content[section] |= values
    with path.open("w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump(content, file)
    shutil.copytree(ROOT / "tasks", path.parent / "tasks", dirs_exist_ok=True)


@pytest.fixture(name="write_params")
def _write_params():
    return write_params


def tiny_articles(number):
    """Return `number` articles of two to five sentences over a few words; always the same."""
    from maskline.corpus.articles import Article

    random = Random(number)
    nouns = ("river", "mountain", "city", "painter", "engine", "garden")
    verbs = ("meets", "follows", "paints", "sees")
    articles = []
    for article in range(number):
        topic = random.choice(nouns)
        sentences = [
            f"The {topic} {random.choice(verbs)} the {random.choice(nouns)} of {random.choice(nouns)}."
            for _ in range(random.randint(2, 5))
        ]
        articles.append(Article(f"{number}-{article}", topic, "", " ".join(sentences)))
    return articles


@pytest.fixture(scope="session", name="tiny_project")
def _tiny_project(tmp_path_factory):
    """Return a folder laid out as the repository: params.yaml, tiny data, and models that nothing trained.

    It is shared: a test that changes something copies it first.
    """
    return built_once(tmp_path_factory, "tiny_project", _write_tiny_project)


def write_reviews(root, number=120):
    """Write `number` labelled texts to `root`/reviews.csv, and name them in the settings file of the task."""
    rows = [f"a {'good' if n % 4 else 'bad'} garden {n},{'positive' if n % 4 else 'negative'}" for n in range(number)]
    (root / "reviews.csv").write_text("\n".join(["text,sentiment", *rows]) + "\n")
    files = {"source": "files", "encoding": "utf-8", "files.paths": [str(root / "reviews.csv")]}
    change(root, {f"tasks/sentiment.yaml:dataset.{key}": value for key, value in files.items()})


def _write_tiny_project(root):
    import torch

    from maskline.dataset.write import write_dataset
    from maskline.examples.premasked import premask
    from maskline.model.directory import TokenizerFiles, export
    from maskline.model.heads import PretrainingModel
    from maskline.shards.tokenize import write_tokens
    from maskline.tasks.classification.examples import Examples
    from maskline.tasks.classification.task import make_task
    from maskline.tokenization.model_files import files_for_model
    from maskline.vocabulary.save import save
    from maskline.vocabulary.wordpiece import train

    data, models = root / "data", root / "data" / "models"
    write_params(root / "params.yaml")
    write_reviews(root)
    params = load(root / "params.yaml")
    splits = {"train": tiny_articles(60), "validation": tiny_articles(20)}
    tokenizer = train(lambda: [article.text for article in splits["train"]], params.tokenizer, "en")
    save(tokenizer, data / "tokenizer", params.tokenizer, {})
    for split, articles in splits.items():
        write_tokens(
            data / "tokens" / split,
            articles,
            data / "tokenizer",
            language="en",
            shard_tokens=500,
            workers=1,
            provenance={"tokenizer": sha256(data / "tokenizer" / MANIFEST)},
        )
    premask(params.premask, data / "tokens" / "validation", data / "tokenizer", data / "validation")
    settings = params.task("sentiment")
    manifest = write_dataset(data / "tasks" / "sentiment", "sentiment", settings.dataset, Examples())

    vocab_size = tokenizer.get_vocab_size()
    files = TokenizerFiles(*files_for_model(data / "tokenizer", params.model.max_positions))
    pretrained = PretrainingModel(params.model, vocab_size)
    pretrained.reset(torch.Generator().manual_seed(0))
    export(models / "pretrained", pretrained, "BertForPreTraining", files, "", {})
    started = {"inputs": {"pretrained": sha256(models / "pretrained" / MANIFEST)}}
    task = make_task(settings.finetune, manifest)
    for seed, name in enumerate(("sentiment", "sentiment-scratch")):
        classifier = task.new_model(params.model, vocab_size, 0.0)
        classifier.reset(torch.Generator().manual_seed(seed))
        export(models / name, classifier, classifier.exported_as, files, "", started, task.config())
