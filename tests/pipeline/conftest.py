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
