"""The time of commands that have nothing to do: `--help` of each command, and `dvc repro` when all is up to date."""

import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.measure import REPETITIONS, Row, Series, child

HELP_SECONDS = 0.5
REPRO_SECONDS = 3.0
PROJECT = ("src", "pipeline", "tasks", "dvc.yaml", "params.yaml", ".dvc/config", ".dvcignore", ".gitignore")
"""The files that `dvc repro` reads."""
DVC = (sys.executable, "-m", "dvc")


def rows() -> list[Row]:
    """Measure both; the row of `--help` is that of the slowest command."""
    return [help_row(), repro_row()]


def commands() -> list[str]:
    """Return the names of all commands."""
    return sorted({path.stem for path in Path("pipeline").glob("*.py")} - {"__init__", "cli", "kinds"})


def help_row() -> Row:
    """Return the row of the slowest command, without the time that Python itself takes to start."""
    python = [sys.executable, "-c", "pass"]
    beyond: dict[str, list[float]] = {name: [] for name in commands()}
    for turn in range(-1, REPETITIONS):
        bare = child(python).seconds
        for name, seconds in beyond.items():
            took = child([sys.executable, "-m", f"pipeline.{name}", "--help"]).seconds
            if turn >= 0:
                seconds.append(took - bare)
    slowest = max(beyond, key=lambda name: median(beyond[name]))
    figure = Series(f"pipeline.{slowest}", "s", tuple(beyond[slowest]))
    note = f"pipeline.{slowest}, the slowest of {len(beyond)} commands"
    return Row("start-up", "--help beyond Python", figure.median, HELP_SECONDS, "at most", (figure,), note=note)


def repro_row() -> Row:
    """Return the row of `dvc repro` with every stage up to date; its note has the time without any stage."""
    with tempfile.TemporaryDirectory() as folder:
        ours, bare = up_to_date(Path(folder) / "ours"), without_stages(Path(folder) / "bare")
        seconds: dict[Path, list[float]] = {ours: [], bare: []}
        for turn in range(-1, REPETITIONS):
            for project, taken in seconds.items():
                took = child([*DVC, "repro"], project).seconds
                if turn >= 0:
                    taken.append(took)
    figure, limit = Series("ours", "s", tuple(seconds[ours])), Series("no stages", "s", tuple(seconds[bare]))
    note = f"`dvc repro` in a project without any stage takes {limit.median:.2f} s"
    return Row("start-up", "dvc repro, nothing to do", figure.median, REPRO_SECONDS, "at most", (figure,), note=note)


def up_to_date(folder: Path) -> Path:
    """Make `folder` a copy of this project in which all stages have run, as far as DVC can tell."""
    from dvc.repo import Repo

    copy(folder, PROJECT)
    with Repo(str(folder)) as repo:
        files = [Path(entry.fs_path) for entry in (*repo.index.outs, *repo.index.deps)]
    for path in files:
        if path.is_file():  # of the project itself
            continue
        # A directory gets one file; its content does not matter.
        file = path if path.suffix else path / "content"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path.name, encoding="utf-8")
    child([*DVC, "commit", "--force"], folder)
    if "up to date" not in (said := child([*DVC, "repro"], folder).output):
        raise RuntimeError(f"dvc repro had something to do: {said}")
    return folder


def without_stages(folder: Path) -> Path:
    """Make `folder` a project without stages."""
    copy(folder, (".dvc/config",))
    (folder / "dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    return folder


def copy(folder: Path, names: tuple[str, ...]) -> None:
    """Make `folder` a git repository with these files and directories of the project."""
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        if Path(name).is_dir():
            shutil.copytree(name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(name, folder / name)
    child(["git", "init", "--quiet"], folder)
