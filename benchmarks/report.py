"""The reports: files for each subject, and a summary of all subjects whose files exist."""

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import SUBJECTS
from benchmarks.measure import Row
from maskline.core.storage import read_json, write_json, write_text
from maskline.reporting.tables import ABSENT, markdown

if TYPE_CHECKING:
    from rich.table import Table

REPORTS = Path("reports/benchmarks")
SUMMARY = "summary.json"
PACKAGES = ("torch", "transformers", "accelerate", "tokenizers", "datasets", "numpy", "pyarrow")
FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "amx_int8")
"""Flags of a CPU that decide how fast it multiplies matrices."""
COLUMNS = ("subject", "peer", "ours", "theirs", "ratio", "target", "met")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> dict[str, Any]:
    """Return the processor, its cores, those of its flags that are in FLAGS, and the memory."""
    cpuinfo = Path("/proc/cpuinfo")  # only on Linux
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    flags = fields.get("flags", "").split()
    return {
        "cpu": fields.get("model name", platform.machine()),
        "cores": cores(),
        "flags": [flag for flag in FLAGS if flag in flags],
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": f"{platform.system()} {platform.machine()}",
    }


def threads() -> dict[str, Any]:
    """Return how many threads the libraries of this process use."""
    torch = sys.modules.get("torch")
    return {
        "torch": torch.get_num_threads() if torch else None,
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
        "RAYON_NUM_THREADS": os.environ.get("RAYON_NUM_THREADS"),
    }


def write_subject(name: str, rows: Sequence[Row], seconds: float, directory: Path = REPORTS) -> None:
    """Write the rows of subject `name` as JSON, with all raw values, and as Markdown; update the summary."""
    content = {
        "machine": machine(),
        "versions": {"python": platform.python_version(), **{package: version(package) for package in PACKAGES}},
        "threads": threads(),
        "seconds": round(seconds, 1),
        "rows": [_content(row) for row in rows],
    }
    write_json(directory / f"{name}.json", content)
    write_text(directory / f"{name}.md", _page(name, content))
    write_json(directory / SUMMARY, summary(directory))


def summary(directory: Path = REPORTS) -> list[dict[str, Any]]:
    """Return {subject, peer, ratio, target, met} for every row of the existing reports."""
    return [{key: row[key] for key in ("subject", "peer", "ratio", "target", "met")} for row in rows(directory)]


def rows(directory: Path = REPORTS, names: Iterable[str] = SUBJECTS) -> list[dict[str, Any]]:
    """Return the rows of the existing reports of `names`."""
    paths = [directory / f"{name}.json" for name in names]
    return [row for path in paths if path.is_file() for row in read_json(path)["rows"]]


def table(title: str, rows: Sequence[dict[str, Any]]) -> "Table":
    """Return rows of a report as a table for the terminal."""
    from rich.table import Table

    shown = Table(*COLUMNS, title=title, title_justify="left")
    for row in rows:
        style = {True: "green", False: "red", None: ""}[row["met"]]
        shown.add_row(*_cells(row), style=style)
    return shown


def _content(row: Row) -> dict[str, Any]:
    return {
        **{key: value for key, value in asdict(row).items() if key != "series"},
        "met": row.met,
        "series": [{**asdict(series), "median": series.median} for series in row.series],
    }


def _page(name: str, content: dict[str, Any]) -> str:
    machine, numeric = content["machine"], [column in {"ours", "theirs", "ratio"} for column in COLUMNS]
    notes = [f"- {row['subject']}, {row['peer']}: {row['note']}\n" for row in content["rows"] if row["note"]]
    return "\n".join(
        [
            f"# {name.replace('_', ' ')}\n",
            markdown(COLUMNS, map(_cells, content["rows"]), numeric),
            "Medians, and the smallest and largest value in brackets; contenders took turns.\n",
            *(["".join(notes)] if notes else []),
            f"{machine['cpu']}, {machine['cores']} cores ({', '.join(machine['flags'])}); "
            + ", ".join(f"{package} {number}" for package, number in content["versions"].items())
            + f"; torch threads {content['threads']['torch'] or ABSENT}.\n",
        ]
    )


def _cells(row: dict[str, Any]) -> list[str]:
    pair = row["series"] if len(row["series"]) <= 2 else []  # more are points of a curve
    sides = [_series(series) for series in pair] + [ABSENT] * (2 - len(pair))
    ratio = ABSENT if row["ratio"] is None else f"{row['ratio']:.3g}"
    if row["spread"]:
        ratio += " ({:.3g} to {:.3g})".format(*row["spread"])
    target = ABSENT if row["target"] is None else f"{row['bound']} {row['target']:g}"
    met = {True: "yes", False: "no", None: ABSENT}[row["met"]]
    return [row["subject"], row["peer"], *sides, ratio, target, met]


def _series(series: dict[str, Any]) -> str:
    low, high = min(series["values"]), max(series["values"])
    spread = f" ({low:,.4g} to {high:,.4g})" if low != high else ""
    return f"{series['median']:,.4g}{spread} {series['unit']}"
