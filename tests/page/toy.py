"""A run in miniature, as its stages leave it, with names that could do harm."""

from pathlib import Path

from maskline.core.storage import read_json, write_csv, write_json, write_text
from maskline.page.source import Source
from tests.conftest import write_reports

HOSTILE = ("<script>alert(1)</script>", "$5 & \"'`</title>", "قِطّة", "中文")
SETTINGS = {
    "seed": 0,
    "corpus": {"language": "en"},
    "tasks": {"sentiment": "classification"},
    "model": {"architecture": "bert", "layers": 2, "hidden": 128},
    "pretrain": {"peak_lr": 0.002},
}
SAMPLES = """# What the model puts in place of [MASK]

Each example is from the validation set.

## 1

> <bdi>\\<script>alert(2)\\</script> قطة `[MASK]` 中文 \\$5</bdi>

| rank | token | probability |
|--:|:--|--:|
| 1 | **meaning** | 0.176 |

## 2

> <bdi>ذهب `[MASK]` إلى $5</bdi>
"""


def made(folder, *, seed=0, loss=4.5, reference=None, labels=HOSTILE, **model):
    """Leave a run in a folder, and return it as the source of a page."""
    folder = Path(folder)
    reports = write_reports(folder, mlm=(6.0, 5.0, loss), labels=labels)
    write_json(
        reports / "corpus" / "metrics.json",
        {
            "read": 1037,
            "articles": 1000,
            "words": 5,
            "characters": 6,
            "dropped": {"short": 7, "near_duplicate": 30},
        },
    )
    write_json(reports / "tokenizer" / "metrics.json", {"vocab_size": 97, "unk_rate": 0.001})
    write_json(reports / "tokenize" / "metrics.json", {"train": {"tokens": 900}, "validation": {"tokens": 90}})
    metrics = {"steps": 300, "tokens": 30000, "parameters": 7, "best": {"loss": loss + 0.6, "step": 300}}
    write_json(reports / "pretrain" / "metrics.json", metrics)
    rows = [{"step": 10 * i, "tokens": 1000 * i, "mlm_loss": 7 - i / 30, "nsp_loss": 0.7} for i in range(1, 31)]
    write_csv(reports / "pretrain" / "train.csv", rows, ("step", "tokens", "mlm_loss", "nsp_loss"))
    scores = read_json(reports / "evaluate" / "metrics.json")
    scores["mlm"] |= {"accuracy_low": 0.2, "accuracy_high": 0.3}
    write_json(reports / "evaluate" / "metrics.json", scores)
    write_text(reports / "evaluate" / "samples.md", SAMPLES)
    write_text(reports / "tasks" / "sentiment" / "score" / "examples.md", SAMPLES)
    write_json(reports / "timing.json", {"pretrain": 60.0})
    settings = {
        "params.yaml": SETTINGS | {"seed": seed, "model": SETTINGS["model"] | model},
        "tasks/sentiment.yaml": {},
    }
    return Source(
        folder, settings, {"params.yaml": SETTINGS, "tasks/sentiment.yaml": {}} if reference is None else reference
    )
