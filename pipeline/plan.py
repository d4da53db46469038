"""Say what `dvc repro` will do, and how long that took before."""

import json
import re
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import run, say


def main(
    timings: Annotated[
        Path, typer.Option(help="The time of each stage where it has not run here yet.", dir_okay=False)
    ] = Path("reports/timing.json"),
) -> None:
    """Name the stages that changed and those that may follow, with the minutes that they took before."""
    from maskline.core.storage import TIMINGS, read_json
    from maskline.reporting.tables import read_seconds

    changed = set(json.loads(_dvc("status", "--json")))
    if not changed:
        say("nothing to do: every stage is up to date")
        return
    stages = _dvc("stage", "list", "--name-only").splitlines()
    readers = re.findall(r'^"(.+)" -> "(.+)";$', _dvc("dag", "--dot"), re.MULTILINE)
    reached, waiting = set(changed), list(changed)
    while waiting:
        current = waiting.pop()
        new = {reader for stage, reader in readers if stage == current} - reached
        reached |= new
        waiting += new
    say(f"to do: {', '.join(stage for stage in stages if stage in changed)}")
    if reached > changed:
        followers = ", ".join(stage for stage in stages if stage in reached - changed)
        say(f"then, where what they read changes: {followers}")
    here = {path.stem: read_seconds(path) for path in TIMINGS.glob("*.json")}
    place, known = "here", here
    if not reached <= here.keys() and timings.is_file():
        place, known = "on the machine of the README", read_json(timings)
    if reached <= known.keys():
        minutes = max(1, round(sum(known[stage] for stage in reached) / 60))
        say(f"altogether up to {minutes} min, as long as it took {place} the last time")


def _dvc(*arguments: str) -> str:
    """Return what a command of DVC prints; one that fails has said why."""
    result = subprocess.run(["dvc", *arguments], stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603, S607
    if result.returncode:
        raise SystemExit(1)
    return result.stdout


if __name__ == "__main__":
    run(main)
