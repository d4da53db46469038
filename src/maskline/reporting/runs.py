"""The runs that a comparison is made of: the experiments of DVC, or folders without git."""

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from maskline.core.errors import UserError
from maskline.reporting.lock import Stages
from maskline.reporting.scores import flatten, folders, to_scores
from maskline.reporting.series import to_series

PARAMS = "params.yaml"
SEED = "seed"
LOCK = "dvc.lock"
EVALUATION = "reports/evaluate/metrics.json"
PRETRAINING = "reports/pretrain/metrics.json"
CURVE = "reports/pretrain/validation.csv"
TRAINING = "reports/pretrain/train.csv"
UNIGRAM = "mlm.unigram_loss"

_SEEDED = re.compile(r"-seed[0-9]+$")
"""How the name of a run ends that `pipeline.seeds` made."""

VALIDATION = "data/validation"
DATASETS = "data/tasks"
SHOWN = 4
"""How many commits a note names."""

Reader = Callable[[str], str | None]
"""Return the text of a file of the run, None where there is none."""
Settings = Mapping[str, Any]
"""Name of a settings file, such as params.yaml -> its content."""


Curves = Mapping[str, Mapping[float, float]]
"""Name of a score -> step -> number, where there is one."""
MLM = "mlm_loss"
TOKENS = "tokens"
"""The name of the tokens read among the curves of pretraining."""


@dataclass(frozen=True)
class Column:
    """A number that runs are compared by."""

    title: str
    better: str
    """higher or lower"""
    task: str = ""
    """Whose examples it is measured on: a task's, or "" for the fixed validation set of pretraining."""


PRETRAINED = {
    "mlm.loss": Column("MLM loss (nats)", "lower"),
    "mlm.accuracy": Column("MLM accuracy", "higher"),
    "nsp.accuracy": Column("NSP accuracy", "higher"),
}
"""What pretraining itself scores."""


@dataclass(frozen=True)
class Run:
    """One experiment, read."""

    name: str
    params: Mapping[str, Any]
    """Dotted key -> value; those of a task's file begin with the name of the file."""
    metrics: Mapping[str, float | None]
    """Key of a column -> number; None where it is null, NaN or infinite.

    Of a run that was not evaluated, what pretraining itself scored on the same validation set at its best step.
    """
    curve: Mapping[float, float]
    """Step -> validation loss in nats per masked token, NaN where there is none."""
    state: str
    """done; diverged (a loss is no number); not trained; no metrics; or what DVC says: queued, running, failed."""
    evaluated: bool = True
    """Whether the stage evaluate ran on what the run made: its former report stays where only others ran."""
    columns: Mapping[str, Column] = field(default_factory=dict)
    """How to show each of the metrics."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Task, or "" for pretraining -> the hash of what it was scored on; absent where no lock says."""
    curves: Mapping[str, Curves] = field(default_factory=dict)
    """Task, or "" for pretraining -> its validation scores while it was trained, and the tokens read in pretraining."""
    unigram: float | None = None
    """MLM loss of guessing by frequency alone on what it was scored on, in nats; None where it was not evaluated."""

    @property
    def configuration(self) -> str:
        """What it is called without its seed, where `pipeline.seeds` has run it under several."""
        return _SEEDED.sub("", self.name)


def read_folder(folder: Path, settings: Settings, name: str) -> Run:
    """Return the run whose `reports/` lie in `folder`; `settings` is the content of its settings files.

    Raises:
        UserError: a file of it is not what a run leaves.
    """

    def read(path: str) -> str | None:
        file = folder / path
        return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None

    return _read(name, settings, read)


def read_experiments(revisions: Sequence[str]) -> tuple[list[Run], list[str]]:
    """Return what DVC knows in the working directory, and a note on what it knows beside that.

    These are the runs of commits, of experiments from them, and the workspace: the first commit of `revisions` comes
    first, the workspace last. The note is on experiments from other commits.

    Raises:
        UserError: there is no DVC project, no git or no commit here, or a revision is unknown.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc.scm import SCMError

    try:
        with Repo() as repo:
            states = [state.dumpd() for state in repo.experiments.show(revs=list(revisions))]
            runs = [run for commit in states[1:] for run in _commit(repo, commit)]
            others = _others(repo, {state["rev"] for state in states[1:]})
    except (DvcException, SCMError) as error:
        raise UserError(f"no experiments to read ({error}): name the folders of the runs to compare instead") from None
    if not runs:
        raise UserError("nothing is committed here: commit the reference run, or name the folders of the runs")
    return [*runs, read_folder(Path(), _settings(states[0]), "workspace")], others


def _others(repo: Any, shown: Set[str]) -> list[str]:
    """Return a note on the experiments that were started from other commits than `shown`, none where there is none."""
    counts = {rev: len(names) for rev, names in repo.experiments.ls(all_commits=True).items() if rev not in shown}
    if not counts:
        return []
    total = sum(counts.values())
    commits = [f"--rev {rev[:7]}" for rev in sorted(counts)]
    options = " ".join(commits[:SHOWN]) + (f" and {len(commits) - SHOWN} more" if len(commits) > SHOWN else "")
    return [f"{total} experiment{'s'[: total > 1]} from other commits: {options} shows them here."]


def _commit(repo: Any, state: Mapping[str, Any]) -> Iterator[Run]:
    yield _revision(repo, state["name"], state, "success")
    for experiment in state["experiments"] or []:
        executor = experiment["executor"] or {"state": "success"}
        yield _revision(repo, experiment["name"], experiment["revs"][0], executor["state"])


def _revision(repo: Any, name: str | None, state: Mapping[str, Any], outcome: str) -> Run:
    """Return the run of a revision; of one that did not succeed, the parameters alone."""
    name = name or state["name"] or state["rev"][:7]
    if state["error"] is not None:
        outcome = "failed"
    if outcome != "success":
        return Run(name, parameters(_settings(state), name), {}, {}, outcome)
    files = repo.scm.get_fs(state["rev"])
    # The project may be a folder of the repository.
    root = PurePosixPath("/", *Path(repo.root_dir).relative_to(repo.scm.root_dir).parts)

    def read(path: str) -> str | None:
        file = str(root / path)
        return files.read_bytes(file).decode(errors="replace") if files.isfile(file) else None

    return _read(name, _settings(state), read)


def _settings(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the settings files that DVC found parameters in."""
    files = (state["data"] or {}).get("params") or {}
    return {Path(name).as_posix(): file.get("data", {}) for name, file in files.items()}


def parameters(settings: Settings, run: str) -> dict[str, Any]:
    """Return parameters under dotted keys; what YAML has and JSON has not, such as dates, as text."""
    named: dict[str, Any] = {}
    for file, content in settings.items():
        if not isinstance(content, Mapping):
            raise UserError(f"{file} of {run} holds no parameters by name: restore it, or leave that run out")
        named |= flatten(content, "" if file == PARAMS else f"{file}:")
    return {key: value if _is_json(value) else str(value) for key, value in named.items()}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _read(name: str, settings: Settings, read: Reader) -> Run:
    params = parameters(settings, name)
    stages = Stages(read(LOCK), settings)
    if not stages.is_current("pretrain"):
        return Run(name, params, {}, {}, "not trained")
    evaluated = stages.is_current("evaluate") and read(EVALUATION) is not None
    metrics: dict[str, float | None] = {}
    columns: dict[str, Column] = {}
    curves: dict[str, Curves] = {}
    unigram = None
    hashes = {"": stages.read_hash("evaluate" if evaluated else "pretrain", VALIDATION)}
    for task, (metrics_file, report_file) in folders(_tasks(settings)).items():
        stage = f"score@{task}" if task else "evaluate"
        texts = read(f"reports/{metrics_file}"), read(f"reports/{report_file}")
        if not stages.is_current(stage) or None in texts:
            continue
        if task:
            hashes[task] = stages.read_hash(stage, f"{DATASETS}/{task}")
        sources = f"reports/{metrics_file} of {name}", f"reports/{report_file} of {name}"
        scores = to_scores(_json(texts[0], sources[0]), _json(texts[1], sources[1]), *sources)
        if task:
            path = f"reports/tasks/{task}/finetune/validation.csv"
            names = {curve.column: curve.name for curve in scores.report.curves}
            curves[task] = _curves(read(path), names, f"{path} of {name}")
        else:
            unigram = _finite(scores.metrics.get(UNIGRAM))
        for headline in scores.report.headlines:
            if headline.against and headline.metric in scores.metrics:  # the others say the same in another way
                key = f"tasks.{task}.{headline.metric}" if task else headline.metric
                metrics[key] = _finite(scores.metrics[headline.metric])
                columns[key] = Column(scores.name(headline), headline.better, task)
    if not evaluated:
        best = _json(read(PRETRAINING), f"{PRETRAINING} of {name}").get("best", {})
        found = {key: best[column] for key in PRETRAINED if (column := key.replace(".", "_")) in best}
        metrics |= {key: _finite(score) for key, score in found.items()}
        columns = {key: PRETRAINED[key] for key, score in found.items() if score is not None} | columns
    rows = csv.DictReader((read(CURVE) or "").splitlines())
    series = to_series(rows, ("step", MLM), f"{CURVE} of {name}")
    curve = {step: loss for step, loss in zip(series["step"], series[MLM], strict=True) if not math.isnan(step)}
    lost = metrics.get("mlm.loss", 0) is None or any(map(math.isnan, curve.values()))
    state = "diverged" if lost else "done" if metrics else "no metrics"
    data = {part: md5 for part, md5 in hashes.items() if md5 is not None}
    names = {column: column for column in (MLM, "mlm_accuracy", "nsp_loss", "nsp_accuracy")}
    curves[""] = _curves(read(CURVE), names, f"{CURVE} of {name}") | _curves(
        read(TRAINING), {TOKENS: TOKENS}, f"{TRAINING} of {name}"
    )
    return Run(name, params, metrics, curve, state, evaluated, columns, data, curves, unigram)


def _curves(text: str | None, names: Mapping[str, str], source: str) -> dict[str, dict[float, float]]:
    """Return those of the columns `names` that a curve file has, by their names there."""
    rows = list(csv.DictReader((text or "").splitlines()))
    found = {column: name for column, name in names.items() if rows and column in rows[0]}
    series = to_series(rows, ("step", *found) if found else (), source)
    return {
        name: {
            step: value
            for step, value in zip(series["step"], series[column], strict=True)
            if math.isfinite(step + value)
        }
        for column, name in found.items()
    }


def _tasks(settings: Settings) -> list[str]:
    """Return the names of the tasks that are switched on."""
    tasks = settings.get(PARAMS, {}).get("tasks")
    return list(tasks) if isinstance(tasks, Mapping) else []


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _json(text: str | None, source: str) -> dict[str, Any]:
    try:
        content = json.loads(text or "{}", parse_int=float)
    except ValueError as error:
        raise UserError(f"{source} is no JSON ({error}): run that experiment again") from None
    if not isinstance(content, dict):
        raise UserError(f"{source} holds no metrics by name: run that experiment again")
    return content
