"""What DVC says of the stages of a project, and a copy of one made ready for DVC."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from maskline.core.errors import UserError, one_line
from maskline.core.storage import write_text
from maskline.reporting.runs import LOCK, PARAMS, SEED

UNNEEDED = {"plot"}
"""Stages that draw, of which no number comes."""


@dataclass(frozen=True)
class Stage:
    """A stage of dvc.yaml."""

    name: str
    command: str
    files: tuple[str, ...]
    """What it depends on, parameters aside."""
    settings: tuple[str, ...]
    """The files that its parameters come from."""
    kept: tuple[str, ...]
    """Its outs that git keeps in place of DVC's cache."""
    before: frozenset[str]
    """All stages that have to run before it."""
    seeded: bool
    """Whether its outcome follows the seed."""


def read_stages(folder: Path) -> dict[str, Stage]:
    """Return name -> stage of the project in `folder`, in the order of dvc.yaml, those that only draw aside.

    Raises:
        UserError: DVC cannot read it.
    """
    from dvc.dependency.param import ParamsDependency
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc.stage import PipelineStage

    try:
        with Repo(str(folder)) as repo:
            graph = repo.index.graph
            found = [
                stage for stage in repo.index.stages if isinstance(stage, PipelineStage) and stage.name not in UNNEEDED
            ]
            asked = {
                stage.name: {dep.def_path: dep.params for dep in stage.deps if isinstance(dep, ParamsDependency)}
                for stage in found
            }
            stages = {}
            for stage in found:
                name = stage.name
                before = frozenset(_before(graph, stage))
                stages[name] = Stage(
                    name,
                    str(stage.cmd),
                    tuple(dep.def_path for dep in stage.deps if not isinstance(dep, ParamsDependency)),
                    tuple(asked[name]),
                    tuple(out.def_path for out in stage.outs if not out.use_cache),
                    before,
                    any(SEED in asked[other].get(PARAMS, []) for other in {name, *before}),
                )
            return stages
    except DvcException as error:
        raise UserError(f"dvc.yaml: {one_line(error)}") from None


def _before(graph: Any, stage: Any) -> set[str]:
    """Return the names of the stages that `stage` depends on, near and far."""
    found, waiting = set[str](), [stage]
    while waiting:
        for other in graph.successors(waiting.pop()):
            name = getattr(other, "name", None)  # a .dvc file has none
            if name is not None and name not in found:
                found.add(name)
                waiting.append(other)
    return found


def choose(stages: Mapping[str, Stage], targets: Sequence[str]) -> list[str]:
    """Return the stages that `targets` name: one, or all of a group (`score`); without any, all.

    Raises:
        UserError: there is no such stage.
    """
    chosen = []
    for target in targets:
        members = [name for name in stages if name == target or name.partition("@")[0] == target]
        if not members:
            raise UserError(f"no stage {target}: there are {', '.join(stages)}")
        chosen += members
    return list(dict.fromkeys(chosen or stages))


def prepare(folder: Path) -> None:
    """Let DVC work in `folder`, a copy of the project in the working directory: without git, with the same cache."""
    from dvc.config import Config
    from dvc.repo import Repo

    with Repo() as repo:
        cache = str(Path(repo.cache.local_cache_dir).resolve())
        local = dict(repo.config.load_one("local"))
    with Config(str(folder / ".dvc")).edit("local") as config:
        for section, values in local.items():
            config[section] = values
        config["core"]["no_scm"] = True
        config["cache"]["dir"] = cache


def change(folder: Path, overrides: Iterable[str]) -> None:
    """Set parameters of the project in `folder` as `dvc exp run -S` does.

    Raises:
        UserError: one is none that DVC takes, sets the seed, or has several values.
    """
    from dvc.exceptions import DvcException
    from dvc.utils.cli_parse import to_path_overrides
    from dvc.utils.hydra import apply_overrides, to_hydra_overrides
    from hydra.errors import HydraException

    overrides = list(overrides)
    for file, texts in to_path_overrides(overrides).items():
        path = folder / file
        if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
            raise UserError(f"-S {file}:{texts[0]}: there is no file {file} that git knows")
        try:
            for override in to_hydra_overrides(texts):
                if override.is_sweep_override():
                    raise UserError(f"-S {override.input_line} has several values: one configuration at a time")
                if file == PARAMS and override.key_or_group == SEED:
                    raise UserError(
                        f"-S {override.input_line}: each run has a seed of its own, from 0 on: leave it out"
                    )
            apply_overrides(str(path), texts)
        except (DvcException, HydraException, KeyError) as error:
            reason = one_line(error.__cause__ or error)
            raise UserError(f"-S {' -S '.join(texts)}: {reason}") from None


def give(folder: Path, seed: int, threads: int | None, compute: Mapping[str, Any]) -> None:
    """Give the project in `folder` its seed, the values of `compute`, and the number of threads if there is one."""
    from dvc.utils.hydra import apply_overrides

    values = [f"{SEED}={seed}", *(f"++compute.{key}={json.dumps(value)}" for key, value in compute.items())]
    values += [f"++compute.threads={threads}"] if threads else []
    apply_overrides(str(folder / PARAMS), values)


def threads_of(text: str | None) -> int:
    """Return the number of threads that the text of a params.yaml asks for; 0: as many as there are cores."""
    content = _yaml(text)
    compute = content.get("compute") if isinstance(content, Mapping) else None
    threads = compute.get("threads") if isinstance(compute, Mapping) else None
    return threads if isinstance(threads, int) else 0


def read_lock(text: str | None) -> dict[str, Any]:
    """Return the stages in the text of a dvc.lock; none where there is none."""
    content = _yaml(text)
    return dict(content["stages"]) if isinstance(content, Mapping) and "stages" in content else {}


def forget(folder: Path, names: Iterable[str]) -> None:
    """Take stages out of the dvc.lock of the project in `folder`: they run again, whatever they made before."""
    from ruamel.yaml import YAML

    path = folder / LOCK
    if not path.is_file():
        return
    yaml, text = YAML(), StringIO()
    content = yaml.load(path.read_text(encoding="utf-8"))
    for name in names:
        content["stages"].pop(name, None)
    yaml.dump(content, text)
    write_text(path, text.getvalue())


def _yaml(text: str | None) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).load(StringIO(text or ""))
