import errno
import os
import subprocess
import sys

import pytest

from pipeline import cli


def outcome(monkeypatch, capsys, main, *arguments):
    """Return the exit code of a command and what it wrote to stderr."""
    monkeypatch.setattr(sys, "argv", ["command", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.run(main)
    return end.value.code, capsys.readouterr().err


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOTDIR])
def test_a_path_that_the_system_refuses_is_one_line_that_names_it(monkeypatch, capsys, code):
    def main():
        raise OSError(code, os.strerror(code), "data/corpus")

    line = f"error: data/corpus: {os.strerror(code)}; --debug shows what was tried\n"
    assert outcome(monkeypatch, capsys, main) == (1, line)
    monkeypatch.setattr(sys, "argv", ["command", "--debug"])
    with pytest.raises(OSError, match=os.strerror(code)):
        cli.run(main)


def test_ctrl_c_says_how_to_go_on(monkeypatch, capsys):
    def main():
        raise KeyboardInterrupt

    code, said = outcome(monkeypatch, capsys, main)
    assert code == 130
    assert said.strip() == "interrupted: run the same command again"


def test_what_the_terminal_cannot_show_does_not_end_a_run():
    program = "from pipeline.cli import run\ndef main():\n    print('loss ↓')\nrun(main)"
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "loss \\u2193\n", "")
