"""What several tests build on: a run's reports in miniature, and a folder of wheels in place of the package index."""

import math
import os
import zipfile
from pathlib import Path

import pytest

from maskline.storage import sha256, write_csv, write_json

PRETRAIN_TRAIN = ("step", "epoch", "tokens", "lr", "mlm_loss", "nsp_loss", "loss", "grad_norm")
PRETRAIN_VALIDATION = ("step", "mlm_loss", "mlm_accuracy", "nsp_loss", "nsp_accuracy", "loss")


def write_reports(folder, *, mlm=(6.0, 5.0, 4.5), nsp=(0.69, 0.65, 0.6), labels=("negative", "positive")):
    """Write `folder`/reports with one validation row per loss; None is an empty field."""
    reports = Path(folder) / "reports"
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
    for prefix, shift in (("", 0.0), ("scratch-", 0.1)):
        finetune = reports / "finetune" / "sentiment"
        rows = [{"step": 10 * i, "epoch": i / 10, "loss": shift + 1 / i} for i in range(1, 31)]
        write_csv(finetune / f"{prefix}train.csv", rows, ("step", "epoch", "lr", "loss", "grad_norm"))
        rows = [{"step": 100 * i, "epoch": i, "loss": 0.4, "accuracy": 0.8 - shift, "macro_f1": 0.7} for i in (1, 2, 3)]
        write_csv(finetune / f"{prefix}validation.csv", rows, ("step", "epoch", "loss", "accuracy", "macro_f1"))
    pairs = [{"label": a, "predicted": b, "count": 90 if a == b else 10} for a in labels for b in labels]
    write_csv(reports / "evaluate" / "sentiment-confusion.csv", pairs, ("label", "predicted", "count"))
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
        "sentiment": {"accuracy": 0.88, "macro_f1": 0.85, "majority_accuracy": 0.6, "scratch_accuracy": 0.86},
    }
    write_json(reports / "evaluate" / "metrics.json", metrics)
    return reports


@pytest.fixture(name="write_reports")
def _write_reports():
    return write_reports


@pytest.fixture(name="publish")
def _publish(tmp_path, monkeypatch):
    """Make pip see a folder in place of its index; return a function that puts a wheel there and gives its SHA-256."""
    index = tmp_path / "index"
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
