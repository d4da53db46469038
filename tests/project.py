"""A copy of this project, in which tests run the pipeline."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]

SETTINGS = {"compute.device": "cpu", "compute.threads": 1, "compute.workers": 1}
"""Dotted key -> value: what the copy changes in params.yaml, and no stage depends on."""

GUARD = '''"""Refuse the network and write who asked for it into the file that OFFLINE names; do nothing without it."""

import os
import socket
import sys


def refuse(event, arguments):
    asks = event in {"socket.connect", "socket.sendto"} and arguments[0].family != socket.AF_UNIX
    if asks or event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        with open(os.environ["OFFLINE"], "a") as file:
            print(event, arguments, sys.argv, file=file)
        raise OSError("this test has no network")


if "OFFLINE" in os.environ:
    sys.addaudithook(refuse)
'''
"""`sitecustomize.py`, which each Python process reads first that finds it in its PYTHONPATH."""

ENVIRONMENT = {
    # A hook of git and a `make test` around this process are none of the copy's business.
    **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "MAKE", "MFLAGS"))},
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": "src",
    "DVC_NO_ANALYTICS": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{what}": "test@test" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def call(folder, command, *, check=True, **environment):
    """Run a shell command in `folder`; on a failure show what it said."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=ENVIRONMENT | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or not check, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def tracked():
    """Return the project's files, committed or about to be, as paths relative to its root."""
    listed = call(ROOT, "git ls-files -z --cached --others --exclude-standard").stdout
    return sorted(path for path in map(Path, listed.rstrip("\0").split("\0")) if (ROOT / path).is_file())


def change(folder, settings):
    """Set dotted keys in `folder`/params.yaml."""
    yaml = YAML()
    path = Path(folder) / "params.yaml"
    content = yaml.load(path)
    for key, value in settings.items():
        *parents, last = key.split(".")
        section = content
        for parent in parents:
            section = section[parent]
        section[last] = value
    yaml.dump(content, path)


def copy_project(folder):
    """Make `folder` a git repository of the working tree's code, with settings for tests and one commit."""
    for path in tracked():
        if path.parts[0] in {"reports", "tests"} or path.name == "dvc.lock":
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path)
    (folder / "src" / "sitecustomize.py").write_text(GUARD)
    change(folder, SETTINGS)
    call(folder, "git init -q -b main && git add -A && git commit -qm start")
    return folder
