"""What runs leave while they train: in the project, in copies that DVC makes for `--temp` and its queue, and for seeds.

It reads files alone. A run writes its curves to `.runs/<fingerprint>/` seconds after a row was measured; a run that was
killed and goes on writes to the same folder, from its last state on.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maskline.core.errors import UserError
from maskline.core.storage import DVC_COPIES, read_json
from maskline.page import figures
from maskline.page.curves import Training, read_training, table
from maskline.page.document import Page, Section, controls, grid
from maskline.page.elements import Cell, paragraph, text
from maskline.page.elements import table as html_table
from maskline.page.run import lead, run_sections
from maskline.page.source import Source
from maskline.page.training import pretraining_figures
from maskline.reporting.comparison import COMPUTE, written
from maskline.reporting.runs import PARAMS, parameters
from maskline.reporting.series import last_number
from maskline.reporting.tables import format_number

RUNS = ".runs"
SEEDS = "seeds"
"""The folder of RUNS with the copies of `pipeline.seeds`."""
UNKNOWN = "before its first state"
"""The stage of a run that has not saved a state: nothing says which it is."""
CHANGES = 3
"""Parameters that the name of an experiment has at most."""
_STATE = re.compile(r"state-[0-9]{8,}\.json")

Read = Callable[[Path], Mapping[str, Any]]
"""Return the settings of the project in a folder."""


@dataclass(frozen=True)
class LiveRun:
    """One training, as far as it is."""

    experiment: str
    stage: str
    planned: int | None
    """Updates, where its parameters say so."""
    finished: bool
    begun: float
    changed: float
    """When it began and when its curve grew, in seconds since 1970."""
    training: Training


@dataclass
class Watch:
    """A project whose runs are looked at again and again; what has not changed is not read again."""

    root: Path
    read: Read
    reference: Mapping[str, Any] | None = None
    """The settings that the run in the project is held against."""
    _known: dict[Path, tuple[Any, Any]] = field(default_factory=dict)

    def page(self) -> Page:
        """Return the page of the project as it is now."""
        runs = self.runs()
        sections = [_table(runs), *_curves(runs)]
        top = ""
        try:
            top, reports = self._cached(self.root / "reports", _stamps(self.root), self._reports)
            sections += reports
        except (UserError, OSError) as error:  # the project is being changed, or has no reports yet
            sections.append(Section("reports", "Reports", paragraph(text(error), "note")))
        return Page("maskline, live", top, sections, live=True)

    def _reports(self) -> tuple[str, list[Section]]:
        source = Source(self.root, self.read(self.root), self.reference)
        return lead(source), run_sections(source)

    def runs(self) -> list[LiveRun]:
        """Return the newest run of each stage of each experiment, the project's own first."""
        found = []
        for name, folder in self._projects():
            newest: dict[str, LiveRun] = {}
            for directory in sorted((folder / RUNS).glob("*/train.csv")):
                run = self._run(name, directory.parent)
                if run and (run.stage not in newest or newest[run.stage].changed < run.changed):
                    newest[run.stage] = run
            found += sorted(newest.values(), key=lambda run: run.begun)
        return found

    def _projects(self) -> Iterator[tuple[str, Path]]:
        """Yield the project and its copies, each with its name: what its parameters change."""
        yield "here", self.root
        prefix = _prefix(self.root)
        exps = self.root / DVC_COPIES.strip("/")
        copies = [path for pattern in ("tmp*", "standalone/tmp*") for path in sorted(exps.glob(pattern))]
        copies += sorted(path for path in (self.root / RUNS / SEEDS).glob("*/*") if path.is_dir())
        names = set()
        for copy in copies:
            if (copy / prefix / RUNS).is_dir():
                name = self._name(copy / prefix, copy.name)
                name = f"{name}, in {copy.name}" if name in names else name
                names.add(name)
                yield name, copy / prefix

    def _name(self, copy: Path, folder: str) -> str:
        """Return what the parameters of a copy change, or the name of its folder where nothing tells."""
        stamp = [_stamp(place / PARAMS) for place in (self.root, copy)]
        return str(self._cached(copy / PARAMS, stamp, lambda: self._changes(copy, folder)))

    def _changes(self, copy: Path, folder: str) -> str:
        try:
            ours, theirs = (parameters(self.read(place), str(place)) for place in (copy, self.root))
        except UserError:
            return folder
        keys = [key for key in dict.fromkeys([*theirs, *ours]) if not key.startswith(COMPUTE)]
        changed = [f"{key}={written(ours.get(key))}" for key in keys if ours.get(key) != theirs.get(key)]
        more = f" and {len(changed) - CHANGES} more" if len(changed) > CHANGES else ""
        return (", ".join(changed[:CHANGES]) + more) or f"as here, in {folder}"

    def _run(self, name: str, directory: Path) -> LiveRun | None:
        paths = [directory / file for file in ("train.csv", "validation.csv", "identity.json")]
        stamp = [name, *map(_stamp, paths), *map(_stamp, sorted(directory.glob("state-*.json")))]
        try:
            found: LiveRun | None = self._cached(directory, stamp, lambda: _read_run(name, directory))
        except (UserError, OSError):  # it is being written or removed: what was there before is shown
            found = self._known.get(directory, (None, None))[1]
        return found

    def _cached(self, key: Path, stamp: Any, make: Callable[[], Any]) -> Any:
        if key not in self._known or self._known[key][0] != stamp:
            self._known[key] = (stamp, make())
        return self._known[key][1]


def _read_run(name: str, directory: Path) -> LiveRun:
    identity = read_json(directory / "identity.json") if (directory / "identity.json").is_file() else {}
    stage, params = str(identity.get("stage", UNKNOWN)), identity.get("params", {})
    recipe = params.get("pretrain") or params.get("finetune") or {}
    states = sorted(path for path in directory.glob("state-*.json") if _STATE.fullmatch(path.name))
    finished = bool(states) and read_json(states[-1]).get("finished") is True
    training = read_training(directory, name, None)
    changed = (directory / "train.csv").stat().st_mtime
    begun = (directory / "identity.json").stat().st_mtime if identity else changed
    return LiveRun(name, stage, recipe.get("steps"), finished, begun, changed, training)


def _table(runs: list[LiveRun]) -> Section:
    rows = []
    for run in runs:
        steps, losses = run.training.train["step"], run.training.train.get("loss", [])
        step, last = last_number(steps), last_number(losses)
        scores = run.training.validation.get("loss", [])
        best = min((value for value in scores if not math.isnan(value)), default=None)
        of = "" if run.planned is None else f" of {run.planned:,}"
        ago = "finished" if run.finished else f'<span data-since="{run.changed:.0f}">running</span>'
        rows.append(
            [
                text(run.experiment),
                text(run.stage),
                Cell("—" if step is None else f"{step:,.0f}{of}", step, number=True),
                Cell(format_number(last), last, number=True),
                Cell(format_number(best), best, number=True),
                ago,
            ]
        )
    if not rows:
        content = paragraph("Nothing has been trained here yet; this page shows it seconds after it begins.")
    else:
        header = ("experiment", "stage", "step", "training loss", "best validation loss", "last row")
        content = html_table("The newest run of each stage", header, rows)
    return Section("now", "Now", content)


def _curves(runs: list[LiveRun]) -> list[Section]:
    """Return a section for each stage, with the experiments over each other."""
    sections = []
    for place, stage in enumerate(dict.fromkeys(run.stage for run in runs)):
        trainings = [run.training for run in runs if run.stage == stage and run.training.train["step"]]
        if not trainings:
            continue
        key = f"live-{place}"
        columns = dict.fromkeys(name for one in trainings for name in (*one.train, *one.validation))
        if "mlm_loss" in columns:
            drawn = pretraining_figures(trainings, {}, f"{key}-")
        else:
            shown = ["loss", *(name for name in columns if name not in {*trainings[0].train, "loss"})]
            drawn = []
            for number, name in enumerate(shown):
                data, note = table(trainings, name)
                title = name.replace("_", " ")
                drawn.append(
                    figures.curves(f"{key}-{number}", title, title, data, caption=text(note), is_loss=name == "loss")
                )
        sections.append(Section(key, f"Live: {stage}", controls(drawn) + grid(drawn), drawn))
    return sections


def _prefix(root: Path) -> Path:
    """Return where the project lies in its repository."""
    whole = root.resolve()
    above = next((folder for folder in (whole, *whole.parents) if (folder / ".git").exists()), whole)
    return whole.relative_to(above)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file does, None where there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size


def _stamps(root: Path) -> list[Any]:
    files = [root / PARAMS, root / "dvc.lock", *sorted((root / "tasks").glob("*.yaml"))]
    files += sorted(path for path in (root / "reports").rglob("*") if path.suffix in {".csv", ".json", ".md"})
    return [(str(path), _stamp(path)) for path in files]


def state(page: Page, figures_of: Callable[[Section], Mapping[str, Any]]) -> str:
    """Return what changes of a page that is open, as JSON."""
    sections = [{"key": section.key, "title": text(section.title), "html": section.html} for section in page.sections]
    drawn = {key: figure for section in page.sections for key, figure in figures_of(section).items()}
    return json.dumps({"sections": sections, "figures": drawn, "lead": page.lead}, allow_nan=False)
