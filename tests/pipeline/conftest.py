import sys

import pytest

from pipeline.cli import run


@pytest.fixture
def ask(tiny_project, monkeypatch, capsys):
    """Return a function that runs a command on a model of the tiny project; it gives exit code, output and errors."""

    def ask(main, *arguments, model="pretrained"):
        directory = tiny_project / "data" / "models" / model
        monkeypatch.setattr(sys, "argv", [main.__module__, *arguments, "--model", str(directory)])
        with pytest.raises(SystemExit) as stop:
            run(main)
        return stop.value.code, *capsys.readouterr()

    return ask


@pytest.fixture
def invoke(monkeypatch, capsys):
    """Return a function that runs the module of a command in this folder; it gives exit code, output and errors."""

    def invoke(command, *arguments):
        monkeypatch.setattr(sys, "argv", [command.__name__, *arguments])
        with pytest.raises(SystemExit) as stop:
            run(command.main)
        return stop.value.code, *capsys.readouterr()

    return invoke
