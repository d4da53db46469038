"""The runs that a comparison is made of: the experiments of DVC, or folders without git."""

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maskline.errors import UserError
from maskline.reporting.series import to_series

METRICS = "reports/evaluate/metrics.json"
PRETRAINING = "reports/pretrain/metrics.json"
CURVE = "reports/pretrain/validation.csv"

Reader = Callable[[str], str | None]
"""Return the text of a file of the run, None where there is none."""


@dataclass(frozen=True)
class Run:
    """One experiment, read."""

    name: str
    params: Mapping[str, Any]
    """Dotted key -> value."""
    metrics: Mapping[str, float | None]
    """Dotted key of reports/evaluate/metrics.json -> number; None where it is null, NaN or infinite.

    Of a run that was not evaluated, what pretraining itself scored on the same validation set at its best step.
    """
    curve: Mapping[float, float]
    """Step -> validation loss in nats per masked token, NaN where there is none."""
    state: str
    """done; diverged (a loss is no number); no metrics; or what DVC says: queued, running, failed."""
    evaluated: bool = True
    """Whether the stage evaluate ran on what the run made: DVC keeps the former report where it ran others alone."""


def read_folder(folder: Path, params: Any, name: str, *, evaluated: bool = True) -> Run:
    """Return the run whose `reports/` lie in `folder`; `params` is the content of its params.yaml.

    Raises:
        UserError: a file of it is not what a run leaves.
    """

    def read(path: str) -> str | None:
        file = folder / path
        return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None

    return _read(name, params, read, evaluated)


def read_experiments(revisions: Sequence[str]) -> list[Run]:
    """Return what DVC knows in the working directory: the runs of commits, of experiments from them, the workspace.

    The first commit of `revisions` comes first, the workspace last.

    Raises:
        UserError: there is no DVC project, no git or no commit here, or a revision is unknown.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo() as repo:
            states = [state.dumpd() for state in repo.experiments.show(revs=list(revisions))]
            runs = [run for commit in states[1:] for run in _commit(commit)]
    except DvcException as error:
        raise UserError(f"no experiments to read ({error}): name the folders of the runs to compare instead") from None
    if not runs:
        raise UserError("nothing is committed here: commit the reference run, or name the folders of the runs")
    return [*runs, read_folder(Path(), _params(states[0]), "workspace", evaluated=_evaluated(states[0]))]


def _commit(state: Mapping[str, Any]) -> Iterator[Run]:
    yield _revision(state["name"], state, "success")
    for experiment in state["experiments"] or []:
        executor = experiment["executor"] or {"state": "success"}
        yield _revision(experiment["name"], experiment["revs"][0], executor["state"])


def _revision(name: str | None, state: Mapping[str, Any], outcome: str) -> Run:
    """Return the run of a revision; of one that did not succeed, the parameters alone."""
    from dvc.api import DVCFileSystem

    name = name or state["name"] or state["rev"][:7]
    if state["error"] is not None:
        outcome = "failed"
    if outcome != "success":
        return Run(name, _by_name(_params(state), name), {}, {}, outcome)
    files = DVCFileSystem(rev=state["rev"])

    def read(path: str) -> str | None:
        return files.read_text(path, encoding="utf-8", errors="replace") if files.isfile(path) else None

    try:
        return _read(name, _params(state), read, _evaluated(state))
    finally:
        files.close()


def _evaluated(state: Mapping[str, Any]) -> bool:
    """Return whether what stages left in `data/`, as dvc.lock has it, is what the stages after them have read."""
    data = state["data"] or {"deps": {}, "outs": {}}
    made = {path: out["hash"] for path, out in data["outs"].items() if path.startswith("data/")}
    return all(dep["hash"] == made[path] for path, dep in data["deps"].items() if path in made)


def _params(state: Mapping[str, Any]) -> Any:
    files = state["data"]["params"] if state["data"] else {}
    return files.get("params.yaml", {}).get("data", {})


def _by_name(params: Any, run: str) -> dict[str, Any]:
    """Return parameters under dotted keys; what YAML has and JSON has not, such as dates, as text."""
    if not isinstance(params, Mapping):
        raise UserError(f"params.yaml of {run} holds no parameters by name: restore it, or leave that run out")
    return {key: value if _is_json(value) else str(value) for key, value in flatten(params).items()}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _read(name: str, params: Any, read: Reader, evaluated: bool) -> Run:
    if evaluated:
        evaluation = _json(read(METRICS), f"{METRICS} of {name}")
    else:
        best = _json(read(PRETRAINING), f"{PRETRAINING} of {name}").get("best", {})
        columns = {"mlm.loss": "mlm_loss", "mlm.accuracy": "mlm_accuracy", "nsp.accuracy": "nsp_accuracy"}
        evaluation = {key: best[column] for key, column in columns.items() if column in best}
    metrics = {
        key: float(value) if value is not None and math.isfinite(value) else None
        for key, value in flatten(evaluation).items()
        if value is None or isinstance(value, int | float)
    }
    rows = csv.DictReader((read(CURVE) or "").splitlines())
    series = to_series(rows, ("step", "mlm_loss"), f"{CURVE} of {name}")
    curve = {step: loss for step, loss in zip(series["step"], series["mlm_loss"], strict=True) if not math.isnan(step)}
    lost = metrics.get("mlm.loss", 0) is None or any(map(math.isnan, curve.values()))
    state = "diverged" if lost else "done" if metrics else "no metrics"
    return Run(name, _by_name(params, name), metrics, curve, state, evaluated)


def _json(text: str | None, source: str) -> dict[str, Any]:
    try:
        content = json.loads(text or "{}", parse_int=float)
    except ValueError as error:
        raise UserError(f"{source} is no JSON ({error}): run that experiment again") from None
    if not isinstance(content, dict):
        raise UserError(f"{source} holds no metrics by name: run that experiment again")
    return content


def flatten(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the leaves of nested mappings under dotted keys; lists are leaves."""
    leaves: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, Mapping):
            leaves |= flatten(value, f"{prefix}{key}.")
        else:
            leaves[f"{prefix}{key}"] = value
    return leaves
