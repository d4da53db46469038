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
DATA = ("data/corpus", "data/tokenizer", "data/tokens/train", "data/tokens/validation", "data/validation")
"""Directories of a run with a manifest, before its models."""


def provenance(source: Source) -> Section:
    """Return how to repeat the run, and the hashes and versions that say whether it was the same."""
    command = "dvc repro" if source.reference is None else "make repro"
    if keys := source.changes():
        command = changes.command(keys, source.params, source.reference_params)
    content = paragraph("The command that repeats it:") + f"<pre>{text(command)}</pre>"
    rows = []
    for directory in (*DATA, *(f"data/models/{name}" for name in ("pretrained", *_models(source)))):
        path = source.folder / directory / MANIFEST
        for name, facts in (read_json(path).get("files", {}) if path.is_file() else {}).items():
            rows.append([code(f"{directory}/{name}"), count_cell(facts.get("bytes")), code(facts.get("sha256"))])
    if rows:
        content += folded("SHA-256 of every file", html_table("SHA-256", ("file", "bytes", "sha256"), rows), "files")
    outs = [[text(stage), code(path), code(md5)] for stage, path, md5 in source.stages.outs()]
    if outs:
        content += folded(
            "Stages and the MD5 of what they made", html_table(LOCK, ("stage", "out", "md5"), outs), "outs"
        )
    times = [(stage, seconds) for stage in source.stages.names() if (seconds := source.seconds(stage)) is not None]
    shown = [[text(stage), Cell(f"{taken:,.1f}", taken, number=True)] for stage, taken in times]
    content += '<div class="grid">' + html_table("Seconds of each stage", ("stage", "seconds"), shown)
    versions = [[text(name), code(version)] for name, version in _versions(source.folder / "constraints.txt")]
    content += html_table("Versions (constraints.txt)", ("package", "version"), versions) + "</div>"
    return Section("provenance", "Provenance", content)


def _models(source: Source) -> list[str]:
    return [name for task in source.tasks for name in (task, f"{task}-scratch")]


def _versions(path: Path) -> list[tuple[str, str]]:
    if not path.is_file():
        return []
    pinned = dict(line.split("==", 1) for line in path.read_text(encoding="utf-8").splitlines() if "==" in line)
    return [(name, pinned[name].split(" ")[0]) for name in LIBRARIES if name in pinned]
