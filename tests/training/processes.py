"""Commands in processes of their own, forked from a server that has imported torch: there at once, and free to die."""

import importlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import forkserver
from pathlib import Path

import pytest
from torch.distributed import TCPStore

ROOT = Path(__file__).parents[2]
SECONDS = 60
"""After which a process hangs."""
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "pytest",  # the main module of a child
        "torch._dynamo",  # which the first optimizer imports
        "pipeline.pretrain", "maskline.finetuning.run", "tests.training.faults",
    ]
)  # fmt: skip


@cache
def start_server():
    """Start the server and wait until it has imported everything; it does not see what pytest does to `sys.path`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
        forkserver.ensure_running()
    first = CONTEXT.Process(target=os.getpid)
    first.start()
    first.join()


@dataclass
class Command:
    """`python -m pipeline.NAME ARGUMENTS` in `folder`, after `faults` have been built in."""

    name: str
    arguments: Sequence[str]
    folder: Path
    faults: Sequence[Callable[[], None]] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        start_server()
        stem = f"{self.name}-{self.environment.get('RANK', '0')}"
        self._said, self._complaint = (self.folder / f"{stem}.{stream}" for stream in ("out", "err"))
        self.process = CONTEXT.Process(
            target=_run,
            args=(
                self.name, [*map(str, self.arguments)], self.folder, self.faults, dict(self.environment),
                self._said, self._complaint,
            ),
        )  # fmt: skip
        self.process.start()

    def wait(self):
        """Return the exit code, negative for a signal."""
        self.process.join(SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
            raise AssertionError(f"{self.name} hangs\n{self.said}\n{self.complaint}")
        return self.process.exitcode

    @property
    def said(self):
        return self._said.read_text() if self._said.exists() else ""

    @property
    def complaint(self):
        return self._complaint.read_text() if self._complaint.exists() else ""


def _run(name, arguments, folder, faults, environment, said, complaint):
    for stream, path in ((1, said), (2, complaint)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv = [name, *arguments]
    for build_in in faults:
        build_in()
    from pipeline import cli

    cli.run(importlib.import_module(f"pipeline.{name}").main)


def group(count, name, arguments, folder, faults=()):
    """Start `count` processes of a command as torchrun does; `faults` are pairs of a rank (None: all) and a fault."""
    store = TCPStore(
        "127.0.0.1", 0, is_master=True, wait_for_workers=False
    )  # as torchrun has it, outside the processes
    environment = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port)}
    environment["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    commands = []
    for rank in range(count):
        of_rank = [fault for place, fault in faults if place in (None, rank)]
        place = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        commands.append(Command(name, arguments, folder, of_rank, environment | place))
        commands[-1].store = store  # lives as long as they do
    return commands
