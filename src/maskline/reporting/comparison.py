"""Experiments side by side: what was changed, what came out, and how far that is from the reference run."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, stdev
from typing import Any

from maskline.core.errors import UserError
from maskline.core.storage import fingerprint
from maskline.core.text import printable
from maskline.reporting.runs import SEED, Column, Run
from maskline.reporting.seeds import Pairs

COMPUTE = "compute."
"""Prefix of the parameters that say where a run is computed, never what."""


@dataclass(frozen=True)
class Row:
    """A run, or several that differ by their seed alone."""

    runs: tuple[Run, ...]
    changes: Mapping[str, Any]
    """Parameters that differ from the reference row's, the seed aside; None where the run has no such key."""

    @property
    def names(self) -> str:
        """The experiments in the row; of several that `pipeline.seeds` made, the configuration."""
        return named(self.runs)

    @property
    def texts(self) -> list[str]:
        """Return the changes as params.yaml writes them."""
        return [f"{key}={written(value)}" for key, value in self.changes.items()]

    @property
    def seeds(self) -> list[Any]:
        """Their seeds."""
        return [run.params.get(SEED) for run in self.runs]

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric over the seeds, None where one of them has none."""
        values = self._values(metric)
        return mean(values) if values else None

    def deviation(self, metric: str) -> float | None:
        """Return the sample standard deviation over the seeds, None for one run."""
        values = self._values(metric)
        return stdev(values) if len(values) > 1 else None

    def by_seed(self, metric: str) -> dict[Any, float]:
        """Return seed -> a metric of the runs that have it."""
        values = {run.params.get(SEED): run.metrics.get(metric) for run in self.runs if run.state == "done"}
        return {seed: value for seed, value in values.items() if value is not None}

    def _values(self, metric: str) -> list[float]:
        values = [run.metrics.get(metric) for run in self.runs]
        found = [value for value in values if value is not None]
        return found if len(found) == len(values) else []


@dataclass(frozen=True)
class Comparison:
    """The reference row, then the others in the order of their changes."""

    rows: Sequence[Row]
    columns: Mapping[str, Column]
    """Key of a metric -> how it is shown."""
    notes: Sequence[str]

    @property
    def shared(self) -> list[str]:
        """The changes that all rows but the reference have, where there are several: they are said once."""
        others = self.rows[1:]
        if len(others) < 2:
            return []
        return [text for text in others[0].texts if all(text in row.texts for row in others)]

    def own(self, row: Row) -> list[str]:
        """Return the changes of a row that are not shared by all."""
        shared = self.shared
        return [text for text in row.texts if text not in shared]

    def difference(self, row: Row, metric: str) -> float | None:
        """Return how far a metric is from the reference row's.

        None where either has none, and where they were measured on other data, which nothing could be learned from.
        """
        value, reference = row.mean(metric), self.rows[0].mean(metric)
        if row is self.rows[0] or value is None or reference is None or self.has_other_data(row, metric):
            return None
        return value - reference

    def pairs(self, row: Row, metric: str) -> Pairs | None:
        """Return a metric of a row and the reference row in pairs of runs with the same seed.

        None where less than two seeds have it in both, or they were scored on other data.
        """
        if row is self.rows[0] or self.has_other_data(row, metric):
            return None
        reference = self.rows[0].by_seed(metric)
        differences = {
            seed: value - reference[seed] for seed, value in row.by_seed(metric).items() if seed in reference
        }
        return Pairs(differences) if len(differences) > 1 else None

    def has_other_data(self, row: Row, metric: str) -> bool:
        """Return whether a metric of a row was measured on other examples than the reference row's."""
        task = self.columns[metric].task
        return row.mean(metric) is not None and not same_data(row.runs[0], self.rows[0].runs[0], task)


def same_data(run: Run, other: Run, task: str) -> bool:
    """Return whether two runs were scored on the same examples of a task, or, for "", of pretraining.

    The hashes decide. Without them, the parameters that make the data have to be the same.
    """
    if task in run.data and task in other.data:
        return run.data[task] == other.data[task]
    made = (f"tasks.{task}", f"tasks/{task}.yaml:dataset.") if task else ("corpus.", "tokenizer.", "premask.")
    return not any(key.startswith(made) for key in _differences(_science(run), _science(other)))


def compare(runs: Sequence[Run], reference: str | None = None, notes: Sequence[str] = ()) -> Comparison:
    """Return `runs` side by side; the first of them is the reference, or the one named `reference`.

    A run that repeats another (same parameters, same numbers) is left out, and a note says so. Finished runs that
    differ by `seed` alone become one row, unless two of them have the same seed or the same numbers: then those do that
    `pipeline.seeds` made together, and the others stand alone. Runs whose parameters differ and whose numbers do not
    are noted, and so are runs that were not evaluated, and those that were scored on other data than the reference.
    `notes` are added.

    Raises:
        UserError: no run has the name of the reference.
    """
    runs = _reference_first(runs, reference)
    kept, said, configurations = _without_repeats(runs)
    said += _unchanged(kept) + _not_evaluated(kept)
    groups: dict[str, list[Run]] = {}
    for run in kept:
        groups.setdefault(fingerprint([_recipe(run), run.state]), []).append(run)
    rows = []
    for group in (part for recipe in groups.values() for part in _by_data(recipe)):
        if _can_be_averaged(group):
            rows.append(_row(group, runs[0]))
            continue
        together: dict[str, list[Run]] = {}
        for run in group:
            together.setdefault(configurations.get(run.name, run.configuration), []).append(run)
        for members in together.values():
            rows += [
                _row(part, runs[0]) for part in ([members] if _can_be_averaged(members) else [[m] for m in members])
            ]
        if group[0].state == "done":
            said += _same_seed(group)
    rows.sort(key=lambda row: (runs[0] not in row.runs, _order(row)))
    comparison = Comparison(rows, _columns(runs), [])
    return replace(comparison, notes=[*said, *_other_data(comparison), *notes])


def _can_be_averaged(runs: Sequence[Run]) -> bool:
    """Return whether runs with the same parameters are finished, and differ in their seeds and in their numbers."""
    seeds = {fingerprint(run.params.get(SEED)) for run in runs}
    return runs[0].state == "done" and len(seeds) == len(runs) == len(set(map(_numbers, runs)))


def _same_seed(runs: Iterable[Run]) -> list[str]:
    """Return a note for each seed that several of some runs with the same parameters share."""
    found: dict[str, list[str]] = {}
    for run in runs:
        found.setdefault(fingerprint(run.params.get(SEED)), []).append(run.name)
    return [
        f"{', '.join(names)}: same parameters and seed, other numbers (code or data differ), so not averaged."
        for names in found.values()
        if len(names) > 1
    ]


def _reference_first(runs: Sequence[Run], name: str | None) -> list[Run]:
    if name is None:
        return list(runs)
    found = next((run for run in runs if name in {run.name, run.configuration}), None)
    if found is None:
        names = ", ".join(printable(run.name) for run in runs)
        raise UserError(f"no run is named {printable(name)}: name one of {names}")
    return [found, *(run for run in runs if run is not found)]


def _by_data(runs: Iterable[Run]) -> list[list[Run]]:
    """Return runs in groups that were scored on the same data, as far as anything is known of it."""
    groups: list[list[Run]] = []
    for run in runs:
        known = ((group, {part: md5 for other in group for part, md5 in other.data.items()}) for group in groups)
        fitting = (group for group, data in known if all(data.get(part, md5) == md5 for part, md5 in run.data.items()))
        group = next(fitting, None)
        if group is None:
            groups.append([run])
        else:
            group.append(run)
    return groups


def _other_data(comparison: Comparison) -> list[str]:
    """Return a note for each set of examples that some rows and the reference do not share."""
    notes = []
    for task in dict.fromkeys(column.task for column in comparison.columns.values()):
        metrics = [key for key, column in comparison.columns.items() if column.task == task]
        others = [row for row in comparison.rows if any(comparison.has_other_data(row, key) for key in metrics)]
        if others:
            names = ", ".join(row.names for row in others)
            what = f"{task}: other classes or another split" if task else "MLM and NSP: another fixed validation set"
            notes.append(f"{names}: {what} than {comparison.rows[0].names}, so no difference is taken.")
    return notes


def _science(run: Run) -> dict[str, Any]:
    """Return the parameters that can change a number; 2 and 2.0 are the same value, to DVC and here."""
    return {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in run.params.items()
        if not key.startswith(COMPUTE)
    }


def _recipe(run: Run) -> dict[str, Any]:
    return {key: value for key, value in _science(run).items() if key != SEED}


def _numbers(run: Run) -> str:
    """Return a hash of all that came out of a run."""
    return fingerprint([run.state, run.metrics, [(step, str(loss)) for step, loss in run.curve.items()]])


def _without_repeats(runs: Iterable[Run]) -> tuple[list[Run], list[str], dict[str, str]]:
    """Return the runs that repeat none before them, notes on the others, and name -> configuration of a repeat."""
    first: dict[str, Run] = {}
    kept, notes, configurations = [], [], dict[str, str]()
    for run in runs:
        other = first.setdefault(fingerprint([_science(run), _numbers(run)]), run) if run.metrics else run
        if other is run:
            kept.append(run)
        else:
            notes.append(f"{run.name} repeats {other.name}: same parameters, same numbers.")
            if run.configuration != run.name:
                configurations.setdefault(other.name, run.configuration)
    return kept, notes, configurations


def _unchanged(runs: Iterable[Run]) -> list[str]:
    """Return a note for each run with another's numbers, to the last digit, under other parameters."""
    first: dict[str, Run] = {}
    notes = []
    for run in runs:
        if run.metrics and (other := first.setdefault(_numbers(run), run)) is not run:
            differing = ", ".join(_differences(_science(run), _science(other)))
            notes.append(
                f"{run.name} has exactly the numbers of {other.name} although {differing} differs: "
                "either that shapes none of them, or nothing was run after the change."
            )
    return notes


def _not_evaluated(runs: Iterable[Run]) -> list[str]:
    names = named([run for run in runs if not run.evaluated])
    return [f"{names}: pretrained and not evaluated; MLM and NSP are those of the best step."] if names else []


def _row(runs: Iterable[Run], reference: Run) -> Row:
    members = tuple(sorted(runs, key=lambda run: (run is not reference, _typed(run.params.get(SEED)), run.name)))
    return Row(members, _differences(_recipe(members[0]), _recipe(reference)))


def _differences(params: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `params` holds in place of `others`, in the order of the keys' first appearance."""
    keys = dict.fromkeys([*others, *params])
    return {key: params.get(key) for key in keys if params.get(key) != others.get(key)}


def _order(row: Row) -> tuple[Any, ...]:
    return [(key, _typed(value)) for key, value in row.changes.items()], row.names


def _typed(value: Any) -> tuple[bool, float, str]:
    """Return a sort key for values of different types: numbers by size, then the rest by their text."""
    number = isinstance(value, int | float)
    return (not number, value if number else 0, str(value))


def _columns(runs: Sequence[Run]) -> dict[str, Column]:
    """Return what the runs are compared by, in the order of the first run that has it."""
    columns: dict[str, Column] = {}
    for run in runs:
        columns = {**columns, **{key: column for key, column in run.columns.items() if key not in columns}}
    return columns


def named(runs: Sequence[Run]) -> str:
    """Return the names of runs; of several seeds of one configuration, the name of that."""
    several = Counter(run.configuration for run in runs)
    return ", ".join(dict.fromkeys(run.configuration if several[run.configuration] > 1 else run.name for run in runs))


def written(value: Any) -> str:
    """Return a parameter as params.yaml writes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
