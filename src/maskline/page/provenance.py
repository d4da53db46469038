"""The section of the page of a run that says how to repeat it."""

from pathlib import Path

from maskline.core.storage import MANIFEST, read_json
from maskline.page import changes
from maskline.page.cells import count_cell
from maskline.page.document import Section
from maskline.page.elements import Cell, code, folded, paragraph, text
from maskline.page.elements import table as html_table
from maskline.page.source import Source
from maskline.reporting.runs import LOCK

LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "pyarrow", "scikit-learn", "dvc")
"""Packages whose version may change a number."""
MADE = {
    "data/corpus": "fetch",
    "data/tokenizer": "tokenizer",
    "data/tokens/train": "tokenize",
    "data/tokens/validation": "tokenize",
    "data/validation": "premask",
    "data/models/pretrained": "pretrain",
}
"""Directory with a manifest -> the stage that makes it; those of the tasks come after them."""


def provenance(source: Source) -> Section:
    """Return how to repeat the run, and the hashes and versions that say whether it was the same."""
    command = "dvc repro" if source.reference is None else "make repro"
    if keys := source.changes():
        command = changes.command(keys, source.params, source.reference_params)
    content = paragraph("The command that repeats it:") + f"<pre>{text(command)}</pre>"
    is_current = source.stages.is_current
    rows = []
    for directory, stage in (MADE | _models(source)).items():
        if not is_current(stage):  # it lies there, and another run made it
            continue
        path = source.folder / directory / MANIFEST
        for name, facts in (read_json(path).get("files", {}) if path.is_file() else {}).items():
            rows.append([code(f"{directory}/{name}"), count_cell(facts.get("bytes")), code(facts.get("sha256"))])
    if rows:
        content += folded("SHA-256 of every file", html_table("SHA-256", ("file", "bytes", "sha256"), rows), "files")
    outs = [[text(stage), code(path), code(md5)] for stage, path, md5 in source.stages.outs() if is_current(stage)]
    if outs:
        content += folded(
            "Stages and the MD5 of what they made", html_table(LOCK, ("stage", "out", "md5"), outs), "outs"
        )
    names = source.stages.names()
    times = [(name, taken) for name in names if is_current(name) and (taken := source.seconds(name)) is not None]
    shown = [[text(stage), Cell(f"{taken:,.1f}", taken, number=True)] for stage, taken in times]
    content += '<div class="grid">' + html_table("Seconds of each stage", ("stage", "seconds"), shown)
    versions = [[text(name), code(version)] for name, version in _versions(source.folder / "constraints.txt")]
    content += html_table("Versions (constraints.txt)", ("package", "version"), versions) + "</div>"
    if former := [name for name in names if not is_current(name)]:
        content += paragraph(text(f"Left out, as they are of another run: {', '.join(former)}."), "note")
    return Section("provenance", "Provenance", content)


def _models(source: Source) -> dict[str, str]:
    """Return the directory of each model of a task, and the stage that makes it."""
    ends = {"": "finetune", "-scratch": "scratch"}
    return {f"data/models/{task}{end}": f"{stage}@{task}" for task in source.tasks for end, stage in ends.items()}


def _versions(path: Path) -> list[tuple[str, str]]:
    if not path.is_file():
        return []
    pinned = dict(line.split("==", 1) for line in path.read_text(encoding="utf-8").splitlines() if "==" in line)
    return [(name, pinned[name].split(" ")[0]) for name in LIBRARIES if name in pinned]
