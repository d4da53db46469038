"""One configuration under several seeds: each run in a copy of the project, kept as an experiment of DVC.

A run has a copy of its own under `.runs/seeds/<configuration>/`, where its stages leave their state as ever, until it
is recorded: so whatever ends the command, the same command goes on with it. The stages that no seed concerns run once,
in a copy `data`, whose dvc.lock the others begin with: DVC brings what they made out of the cache that copies share.
What is recorded names configuration and seed, and is not run again.
"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import close, cpu_count, killpg
from pathlib import Path
from signal import SIGINT
from tempfile import TemporaryDirectory
from typing import Any

from maskline.core.errors import UserError
from maskline.core.storage import fingerprint, try_lock
from maskline.core.text import printable
from maskline.experiments.repository import Experiment, Repository
from maskline.experiments.stages import (
    change,
    choose,
    forget,
    give,
    prepare,
    read_lock,
    read_stages,
    threads_of,
)
from maskline.reporting.lock import Stages
from maskline.reporting.runs import LOCK, PARAMS, SEED

COPIES = Path(".runs/seeds")
COMPUTE = "compute"
LOCKED = "lock"
DVC = (sys.executable, "-m", "dvc")
SUBJECT = re.compile(r"maskline seeds: ([0-9a-f]+) ([0-9]+)")
"""The message of a recorded run: configuration and seed."""
POLL_SECONDS = 0.1
SHOWN = 3
"""How many files a line names."""
NAMED = 40
"""Characters of a name that is made of changed parameters; with more of them it is the configuration's hash alone."""

Settings = Mapping[str, Any]
"""Name of a settings file, such as params.yaml -> its content."""
Read = Callable[[Path], Settings]
"""Return the settings of the project in a folder, checked."""


@dataclass(frozen=True)
class Request:
    """What is to be run."""

    count: int
    """Seeds: 0 to count - 1."""
    targets: Sequence[str]
    """Stages; none: all but those that only draw."""
    overrides: Sequence[str]
    """Parameters to change, as `-S` of `dvc exp run` takes them."""
    name: str | None
    """Of the experiments, before `-seed0`; None: one made of the changes and a hash."""
    jobs: int
    """Runs side by side."""


@dataclass(frozen=True)
class Outcome:
    """What there is when the command ends."""

    done: Mapping[int, Experiment]
    """Seed -> its run."""
    failed: Sequence[int]
    """Seeds whose runs ended with an error."""


class Seeds:
    """One configuration of the project in the working directory, to be run under several seeds."""

    def __init__(self, request: Request, read: Read, say: Callable[[str], None]) -> None:
        """Look at what is there; nothing is run.

        Raises:
            UserError: the request cannot be met.
        """
        if request.count < 1:
            raise UserError(f"{request.count} seeds are no seeds: give 1 or more")
        if request.jobs < 1:
            raise UserError(f"-j {request.jobs}: give 1 or more runs side by side")
        self.request, self.say = request, say
        self.repository = Repository()
        self._tree = self.repository.snapshot()
        with TemporaryDirectory() as folder:
            copy = self._copy(self._tree, Path(folder) / "copy")
            self._threads_before = threads_of((copy / PARAMS).read_text(encoding="utf-8"))
            change(copy, request.overrides)
            self.settings = read(copy)
            self.stages = read_stages(copy)
            self._threads_asked = threads_of((copy / PARAMS).read_text(encoding="utf-8"))
        self.targets = choose(self.stages, request.targets)
        self.key = self._fingerprint()[:7]
        self.name = request.name or _name(request.overrides, self.key)
        self.repository.check_name(self.name)
        self.folder = COPIES / self.key
        self._lock_text = self.repository.text(self._tree, LOCK)
        settings = {file for stage in self.stages.values() for file in stage.settings}
        kept = {path for stage in self.stages.values() for path in stage.kept}
        self._made = [LOCK, *sorted(settings), *sorted(kept)]

    def run(self) -> Outcome:
        """Run what is not done yet and record it; a run that fails does not keep the others from theirs."""
        seeds = range(self.request.count)
        with self._alone() as lock:
            known = self._known()
            self._check_names()
            threads = self._threads(known)
            done = [seed for seed in seeds if seed in known and self._has_targets(seed, known[seed])]
            for seed in done:
                if not known[seed].current:
                    self._record(seed, self.repository.with_paths(self._tree, known[seed].commit, self._made))
            if done:
                self.say(f"done before: {_seeds(done)}")
            missing = [seed for seed in seeds if seed not in done]
            failed = []
            if missing:
                self._name_strangers()
                tree = self._run_common(next(iter(known.values()), None), threads, lock)
                failed = self._run_all(missing, known, tree, threads, lock)
            if not any(path.name.isdecimal() for path in self.folder.iterdir()):
                shutil.rmtree(self.folder)
            known = self._known()
        return Outcome({seed: known[seed] for seed in seeds if seed in known and seed not in failed}, failed)

    @contextmanager
    def open(self, experiment: Experiment) -> Iterator[Path]:
        """Write the files of an experiment to a folder for a while; the block gets the project's root there."""
        with TemporaryDirectory() as folder:
            yield self.repository.write(experiment.commit, Path(folder) / "copy")

    @property
    def _common(self) -> list[str]:
        """The stages that no seed concerns and the targets need."""
        needed = {*self.targets, *(name for target in self.targets for name in self.stages[target].before)}
        return [name for name, stage in self.stages.items() if name in needed and not stage.seeded]

    def _experiment(self, seed: int) -> str:
        return f"{self.name}-seed{seed}"

    @property
    def _compute(self) -> Mapping[str, Any]:
        """Where and how runs that begin now are computed, the number of threads aside."""
        section = self.settings[PARAMS].get(COMPUTE) or {}
        return {key: value for key, value in section.items() if key != "threads"}

    def _fingerprint(self) -> str:
        files = sorted({path for stage in self.stages.values() for path in stage.files})
        params = {key: value for key, value in self.settings[PARAMS].items() if key not in {SEED, COMPUTE}}
        commands = {name: stage.command for name, stage in self.stages.items()}
        return fingerprint([commands, self.repository.hashes(self._tree, files), {**self.settings, PARAMS: params}])

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """Hold the lock of this configuration in the block, which gets its descriptor.

        Runs that a command has begun hold it too, so that nothing touches their copies when the command was killed.
        """
        waiting = False
        while (descriptor := try_lock(self.folder / LOCKED)) is None:
            if not waiting:
                self.say(f"another command, or a run that it began, is at this configuration ({self.folder}): waiting")
            waiting = True
            time.sleep(POLL_SECONDS)
        try:
            yield descriptor
        finally:
            if self.folder.is_dir() and [path.name for path in self.folder.iterdir()] == [LOCKED]:
                shutil.rmtree(self.folder)
            close(descriptor)

    def _known(self) -> dict[int, Experiment]:
        """Return seed -> its run that was recorded; one on other data than the project's has now is none."""
        current = Stages(self._lock_text, self.settings)
        lock = read_lock(self._lock_text)
        data = {name: lock[name].get("outs") for name in self._common if name in lock and current.is_current(name)}
        known = {}
        for experiment in self.repository.experiments():
            match = SUBJECT.fullmatch(experiment.subject)
            if match and match[1] == self.key:
                made = read_lock(self.repository.text(experiment.commit, LOCK))
                if all(made.get(name, {}).get("outs") == outs for name, outs in data.items()):
                    known[int(match[2])] = experiment
        return known

    def _name_strangers(self) -> None:
        if strangers := self.repository.strangers():
            more = f" and {len(strangers) - SHOWN} more" if len(strangers) > SHOWN else ""
            names = printable(", ".join(strangers[:SHOWN]))
            self.say(f"runs are without what git does not know: {names}{more} (`git add -N FILE` makes it known)")

    def _check_names(self) -> None:
        names = {self._experiment(seed) for seed in range(self.request.count)}
        for experiment in self.repository.experiments():
            match = SUBJECT.fullmatch(experiment.subject)
            if experiment.current and experiment.name in names and (match is None or match[1] != self.key):
                raise UserError(f"there is another experiment {experiment.name}: choose another name with -n")

    def _has_targets(self, seed: int, experiment: Experiment) -> bool:
        settings = {**self.settings, PARAMS: {**self.settings[PARAMS], SEED: seed}}
        stages = Stages(self.repository.text(experiment.commit, LOCK) or "stages: {}", settings)
        return all(stages.is_current(target) for target in self.targets)

    def _threads(self, known: Mapping[int, Experiment]) -> int | None:
        """Return the number of threads to give to each run, None where it is that of params.yaml.

        Raises:
            UserError: runs of other seeds have another number.
        """
        cores = cpu_count() or 1
        share = max(1, cores // self.request.jobs)
        own = self._threads_asked or (share if self.request.jobs > 1 else cores)
        texts = {seed: self.repository.text(experiment.commit, PARAMS) for seed, experiment in known.items()}
        for path in self.folder.iterdir():
            if path.name.isdecimal():
                texts[int(path.name)] = (path / self.repository.prefix / PARAMS).read_text(encoding="utf-8")
        for seed, text in sorted(texts.items()):
            if (before := threads_of(text) or cores) != own:
                raise UserError(
                    f"seed {seed} has run with compute.threads {before}, and now it would be {own}: "
                    f"give -S compute.threads={before}, so that all seeds have the same"
                )
        if self.request.jobs > 1:
            self.say(f"{self.request.jobs} runs side by side, compute.threads {own} each")
        return None if self._threads_asked or self.request.jobs == 1 else own

    def _copy(self, tree: str, folder: Path) -> Path:
        """Write `tree` to `folder`, ready for DVC; return where the project lies in it."""
        root = self.repository.write(tree, folder)
        prepare(root)
        return root

    def _run_common(self, example: Experiment | None, threads: int | None, lock: int) -> str:
        """Run the stages that no seed concerns; return the tree that all runs begin with."""
        data = self.folder / "data"
        wanted = threads or self._threads_asked
        params = data / self.repository.prefix / PARAMS
        if data.exists() and threads_of(params.read_text(encoding="utf-8")) != wanted:
            shutil.rmtree(data)  # a command with another number of threads began it
        if not data.exists():
            tree = self._tree
            if example is not None:
                tree = self.repository.with_paths(tree, example.commit, self._made)
            with self._begun(data) as begun:
                root = self._copy(tree, begun)
                if example is None:
                    change(root, self.request.overrides)
                give(root, 0, threads, self._compute)
                if threads is not None or self._threads_asked != self._threads_before:
                    forget(root, [name for name, stage in self.stages.items() if stage.seeded])
                self._checkout(root, lock)
        if self._common:
            process = self._start(data, self._common, lock, None)
            if self._wait([process]) != [0]:
                raise UserError("a stage that all seeds need has failed: see above")
        return self.repository.with_files(self._tree, data, self._made)

    def _run_all(
        self, seeds: Sequence[int], known: Mapping[int, Experiment], tree: str, threads: int | None, lock: int
    ) -> list[int]:
        """Run seeds, those that were begun first; return those that failed."""
        waiting = sorted(seeds, key=lambda seed: (not (self.folder / str(seed)).exists(), seed))
        running: dict[int, subprocess.Popen[bytes]] = {}
        failed = []
        try:
            while waiting or running:
                while waiting and len(running) < self.request.jobs:
                    seed = waiting.pop(0)
                    running[seed] = self._begin(seed, known.get(seed), tree, threads, lock)
                for seed, process in list(running.items()):
                    if (code := process.poll()) is None:
                        continue
                    del running[seed]
                    copy = self.folder / str(seed)
                    if code:
                        failed.append(seed)
                        where = f", its output in {self._log(seed)}" if self.request.jobs > 1 else ""
                        self.say(f"seed {seed}: failed, what it left lies in {copy}{where}")
                        continue
                    self._record(seed, self.repository.with_files(self._tree, copy, self._made))
                    shutil.rmtree(copy)
                    self._log(seed).unlink(missing_ok=True)
                    self.say(f"seed {seed}: done, experiment {self._experiment(seed)}")
                time.sleep(POLL_SECONDS)
        finally:
            self._stop(running.values())
        return sorted(failed)

    def _begin(
        self, seed: int, known: Experiment | None, tree: str, threads: int | None, lock: int
    ) -> "subprocess.Popen[bytes]":
        """Let DVC run the targets for a seed, in the copy that an earlier command left or in a new one."""
        copy = self.folder / str(seed)
        self.say(f"seed {seed}: {'goes on' if copy.exists() else 'begins'}")
        if not copy.exists():
            if known is not None:
                tree = self.repository.with_paths(self._tree, known.commit, self._made)
            with self._begun(copy) as begun:
                root = self._copy(tree, begun)
                give(root, seed, threads, self._compute)
                self._checkout(root, lock)
        return self._start(copy, self.targets, lock, self._log(seed) if self.request.jobs > 1 else None)

    @contextmanager
    def _begun(self, folder: Path) -> Iterator[Path]:
        """Give the block a folder to fill, which is `folder` only when the block has ended."""
        begun = folder.with_name(f"begun-{folder.name}")
        shutil.rmtree(begun, ignore_errors=True)
        yield begun
        begun.rename(folder)

    def _log(self, seed: int) -> Path:
        return self.folder / f"{seed}.log"

    def _record(self, seed: int, tree: str) -> None:
        self.repository.record(self._experiment(seed), tree, f"maskline seeds: {self.key} {seed}")

    def _checkout(self, root: Path, lock: int) -> None:
        """Bring what the cache has of the data that dvc.lock names."""
        command = [*DVC, "checkout", "--quiet", "--force", "--allow-missing"]
        if subprocess.run(command, cwd=root, pass_fds=[lock], check=False).returncode:  # noqa: S603
            raise UserError("`dvc checkout` has failed: see above")

    def _start(self, copy: Path, targets: Sequence[str], lock: int, log: Path | None) -> "subprocess.Popen[bytes]":
        """Let DVC run stages in a copy. Ctrl-C reaches this command alone, which passes it on."""
        command, root = [*DVC, "repro", *targets], copy / self.repository.prefix
        if log is None:
            return subprocess.Popen(command, cwd=root, pass_fds=[lock], process_group=0)  # noqa: S603
        with log.open("ab") as file:
            return subprocess.Popen(  # noqa: S603
                command, cwd=root, pass_fds=[lock], process_group=0, stdout=file, stderr=subprocess.STDOUT
            )

    def _wait(self, processes: Sequence["subprocess.Popen[bytes]"]) -> list[int]:
        try:
            return [process.wait() for process in processes]
        finally:
            self._stop(processes)

    @staticmethod
    def _stop(processes: Iterable["subprocess.Popen[bytes]"]) -> None:
        """Interrupt what still runs, and wait until it has saved its state."""
        alive = [process for process in processes if process.poll() is None]
        for process in alive:
            killpg(process.pid, SIGINT)
        for process in alive:
            while process.poll() is None:
                with suppress(KeyboardInterrupt):
                    process.wait()


def _name(overrides: Sequence[str], key: str) -> str:
    """Return a name for experiments with some parameters changed: the last parts of their keys, if they are few."""
    parts = (re.match(r"[~+]*(?:.*?:)?(?P<key>[^=]*)(?P<value>.*)", override, re.DOTALL) for override in overrides)
    texts = [part["key"].rpartition(".")[2] + part["value"] for part in parts if part]
    changes = "_".join(re.sub(r"[^\w.=-]", "", text) for text in texts)
    return f"{changes}-{key}" if 0 < len(changes) <= NAMED else key


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s'[: len(seeds) > 1]} {', '.join(map(str, seeds))}"
