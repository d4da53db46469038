"""The git repository of the project: its working tree as it is, copies of that, and experiments of DVC.

An experiment of DVC is a commit that git finds as `refs/exps/<commit that it started from>/<name>`. All of this works
on an index of its own, so that neither the user's index nor the working tree is touched.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from maskline.core.errors import UserError, one_line

EXPERIMENTS = "refs/exps"
AUTHOR = "maskline"
"""Who commits where git knows of nobody."""


@dataclass(frozen=True)
class Experiment:
    """A commit under `refs/exps`."""

    name: str
    commit: str
    subject: str
    """The first line of its message."""
    current: bool
    """Whether it was started from HEAD."""


class Repository:
    """The repository that the working directory, the root of a DVC project, lies in."""

    def __init__(self) -> None:
        """Find it.

        Raises:
            UserError: there is no git, no commit or no DVC project here.
        """
        if not Path(".dvc").is_dir():
            raise UserError("no DVC project here: run from the folder that holds dvc.yaml")
        self.directory = Path(_git("rev-parse", "--absolute-git-dir").strip())
        self.prefix = Path(_git("rev-parse", "--show-prefix").strip())
        """Where the project lies in the repository."""
        self.head = _git("rev-parse", "--verify", "HEAD^{commit}").strip()

    def snapshot(self) -> str:
        """Return the tree of the working tree: what git knows, as it is now, whether committed or not."""
        index = self.directory / "index"
        with self._index(index.read_bytes() if index.is_file() else None) as environment:
            _git("add", "--update", "--", ":/", environment=environment)
            return _git("write-tree", environment=environment).strip()

    def strangers(self) -> list[str]:
        """Return the files of the project that git does not know and does not ignore, which no snapshot has."""
        return _lines(_git("ls-files", "-z", "--others", "--exclude-standard"))

    def write(self, tree: str, folder: Path) -> Path:
        """Write the files of `tree` to `folder`, a copy of the repository; return where the project lies in it."""
        folder.mkdir(parents=True)
        with self._index() as environment:
            _git("read-tree", tree, environment=environment)
            _git("checkout-index", "--all", "--force", environment=environment | self._at(folder), folder=folder)
        return folder / self.prefix

    def with_files(self, tree: str, folder: Path, paths: Sequence[str]) -> str:
        """Return `tree` with what lies at `paths` of the project in `folder`, a copy, in place of its own."""
        with self._index() as environment:
            _git("read-tree", tree, environment=environment)
            self._forget(paths, environment)
            there = [path for path in paths if (folder / self.prefix / path).exists()]
            if there:
                _git(
                    "add",
                    "--force",
                    "--",
                    *there,
                    environment=environment | self._at(folder),
                    folder=folder / self.prefix,
                )
            return _git("write-tree", environment=environment).strip()

    def with_paths(self, tree: str, other: str, paths: Sequence[str]) -> str:
        """Return `tree` with what lies at `paths` of the project in another tree in place of its own."""
        with self._index() as environment:
            _git("read-tree", tree, environment=environment)
            self._forget(paths, environment)
            whole = [(self.prefix / path).as_posix() for path in paths]
            found = _git("ls-tree", "-r", "-z", "--full-tree", other, "--", *whole)
            _git("update-index", "-z", "--index-info", environment=environment, given=found)
            return _git("write-tree", environment=environment).strip()

    def hashes(self, tree: str, paths: Sequence[str]) -> dict[str, str]:
        """Return path -> hash of the files and folders among `paths` of the project that `tree` has."""
        whole = {(self.prefix / path).as_posix(): path for path in paths}
        found = _lines(_git("ls-tree", "-z", "--full-tree", tree, "--", *whole))
        named = (line.split("\t", 1) for line in found)
        return {whole[name]: facts.split()[2] for facts, name in named if name in whole}

    def text(self, tree: str, path: str) -> str | None:
        """Return the text at `path` of the project in `tree`, None where there is none."""
        done = _run("show", f"{tree}:{(self.prefix / path).as_posix()}")
        return None if done.returncode else done.stdout

    def experiments(self) -> list[Experiment]:
        """Return the experiments that were started from any commit, those from HEAD last."""
        form = "%(refname)%00%(objectname)%00%(contents:subject)"
        found = []
        for line in _git("for-each-ref", f"--format={form}", EXPERIMENTS).splitlines():
            reference, commit, subject = line.split("\0")
            parts = reference.split("/")
            if len(parts) == 5:
                found.append(Experiment(parts[4], commit, subject, parts[2] + parts[3] == self.head))
        return sorted(found, key=lambda experiment: experiment.current)

    def check_name(self, name: str) -> None:
        """Refuse what cannot be the name of an experiment.

        Raises:
            UserError: git or DVC has no such names.
        """
        if "/" in name or _run("check-ref-format", f"{EXPERIMENTS}/00/{name}").returncode:
            raise UserError(f"{name!r} cannot name an experiment: take letters, digits, - and _")

    def record(self, name: str, tree: str, subject: str) -> None:
        """Make `tree` the experiment `name` that was started from HEAD, in place of one of that name."""
        author = {} if _run("var", "GIT_AUTHOR_IDENT").returncode == 0 else _identity()
        commit = _git("commit-tree", tree, "-p", self.head, "-m", subject, environment=author).strip()
        _git("update-ref", self._reference(name), commit)

    def _reference(self, name: str) -> str:
        return f"{EXPERIMENTS}/{self.head[:2]}/{self.head[2:]}/{name}"

    def _forget(self, paths: Sequence[str], environment: Mapping[str, str]) -> None:
        _git("rm", "-r", "-q", "-f", "--cached", "--ignore-unmatch", "--", *paths, environment=environment)

    def _at(self, folder: Path) -> dict[str, str]:
        return {"GIT_DIR": str(self.directory), "GIT_WORK_TREE": str(folder.absolute())}

    @contextmanager
    def _index(self, content: bytes | None = None) -> Iterator[dict[str, str]]:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "index"
            if content is not None:
                path.write_bytes(content)
            yield {"GIT_INDEX_FILE": str(path)}


def _identity() -> dict[str, str]:
    return {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", AUTHOR), ("EMAIL", f"{AUTHOR}@localhost"))
    }


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\0") if line]


def _git(
    *arguments: str, environment: Mapping[str, str] | None = None, folder: Path | None = None, given: str | None = None
) -> str:
    """Return what a command of git prints.

    Raises:
        UserError: it fails.
    """
    done = _run(*arguments, environment=environment, folder=folder, given=given)
    if done.returncode:
        raise UserError(f"git {arguments[0]} fails: {one_line(done.stderr) or f'exit code {done.returncode}'}")
    return done.stdout


def _run(
    *arguments: str, environment: Mapping[str, str] | None = None, folder: Path | None = None, given: str | None = None
) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607
            env=os.environ | dict(environment or {}),
            cwd=folder,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise UserError("git is not installed, and experiments are kept in it") from None
