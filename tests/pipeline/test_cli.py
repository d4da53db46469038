import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from maskline.core.errors import UserError
from pipeline import cli
from tests.project import ROOT

SEARCHED = os.pathsep.join([str(ROOT / "src"), str(ROOT)])


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


def test_a_system_that_lacks_what_runs_rely_on_is_one_line(monkeypatch, capsys):
    """As Windows does."""
    monkeypatch.delattr(signal, "SIGALRM")
    line = f"error: maskline does not run on {sys.platform}: use Linux, macOS or WSL\n"
    assert outcome(monkeypatch, capsys, lambda: None) == (1, line)


def test_a_package_that_is_not_there_is_one_line_and_a_module_of_ours_a_traceback(monkeypatch, capsys):
    """A machine that serves a graph has no torch, and may be given a model that needs it."""

    def imports(name):
        def main():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        return main

    line = "error: torch is not installed, which this needs: pip install -c constraints.txt -e .\n"
    assert outcome(monkeypatch, capsys, imports("torch")) == (1, line)
    monkeypatch.setattr(sys, "argv", ["command"])
    for name in ("maskline.nothing", "pipeline.nothing", None):
        with pytest.raises(ModuleNotFoundError):
            cli.run(imports(name))


@pytest.mark.parametrize("text", ["two\nlines", "\x1b]0;title\x07", "\x1b[31mred", "\u202eturned", "\x9b2J"])
def test_an_error_is_one_line_that_steers_no_terminal(monkeypatch, capsys, text):
    """A label, a key or the name of a file may hold anything."""

    def faulty():
        raise UserError(f"label {text} is unknown")

    def missing():
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", text)

    for main in (faulty, missing):
        code, said = outcome(monkeypatch, capsys, main)
        assert code == 1
        assert said.startswith("error: ")
        assert said[:-1].isprintable()
        assert said.endswith("\n")


@pytest.mark.parametrize("err", [False, True])
def test_on_a_terminal_a_line_breaks_between_words(monkeypatch, capsys, err):
    monkeypatch.setenv("COLUMNS", "30")
    line = "mlm: loss 5.076, perplexity 160.1, \x1b[1maccuracy 0.1176"
    whole = "mlm: loss 5.076, perplexity 160.1, �[1maccuracy 0.1176\n"
    cli.say(line, err=err)
    assert capsys.readouterr()[err] == whole  # a file and a pipe get what they can search
    monkeypatch.setattr(sys.stderr if err else sys.stdout, "isatty", lambda: True)
    cli.say(line, err=err)
    assert capsys.readouterr()[err] == "mlm: loss 5.076,\n  perplexity 160.1,\n  �[1maccuracy 0.1176\n"


@pytest.mark.parametrize("place", ["", "a/folder"])
def test_of_a_shallow_clone_a_copy_of_dvc_is_refused(monkeypatch, capsys, tmp_path, place):
    """DVC would run it to its end, and keep nothing."""
    copy = tmp_path / place / ".dvc" / "tmp" / "exps" / "standalone" / "tmp1"
    copy.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(copy)
    assert outcome(monkeypatch, capsys, lambda: None) == (0, "")
    (tmp_path / ".git" / "shallow").touch()
    code, said = outcome(monkeypatch, capsys, lambda: None)
    assert code == 1
    assert "this clone is shallow" in said
    monkeypatch.chdir(tmp_path / place)
    assert outcome(monkeypatch, capsys, lambda: None) == (0, "")  # in the workspace nothing is lost


PROGRAM = """
from pathlib import Path
from pipeline.cli import run
def main(text: str, path: Path):
    assert path.read_text(encoding="utf-8") == Path("\u0645\u0631\u062d\u0628\u0627.txt").read_text(encoding="utf-8")
    print([text], path, [path.name for path in Path().glob("*.txt")])
run(main)
"""


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"LC_ALL": "C.UTF-8"}])
@pytest.mark.parametrize("mode", ["0", "1", None])
def test_names_and_texts_are_utf8_in_every_locale(tmp_path, locale, mode):
    (tmp_path / "مرحبا.txt").write_text("content", encoding="utf-8")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONUTF"))
    }
    environment |= locale | {"PYTHONCOERCECLOCALE": "0", "PYTHONPATH": SEARCHED}
    environment |= {"PYTHONUTF8": mode} if mode else {}
    (tmp_path / "command.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "command.py", "سلام é", "مرحبا.txt"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    said = "['سلام é'] مرحبا.txt ['مرحبا.txt']\n"
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (0, said, "")


def test_bytes_that_are_not_utf8_come_through(tmp_path):
    (tmp_path / "\udcff").write_text("content")
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment["PYTHONPATH"] = SEARCHED
    program = (
        "from pathlib import Path\nfrom pipeline.cli import run\n"
        "def main(path: Path):\n    print(path.read_text())\nrun(main)"
    )
    command = [sys.executable, "-c", program, b"\xff"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "content\n", "")


def test_a_name_that_the_locale_has_not_is_one_line(monkeypatch, capsys):
    """Such as an Arabic one under Latin-1, which is what arguments are in there."""

    def main():
        "مرحبا".encode("latin-1")

    line = "error: '\\u0645\\u0631\\u062d\\u0628\\u0627' is no file name in this locale: set PYTHONUTF8=1\n"
    assert outcome(monkeypatch, capsys, main) == (1, line)


@pytest.mark.parametrize(
    ("given", "spins"), [({}, "1000"), ({"OMP_WAIT_POLICY": "active"}, None), ({"GOMP_SPINCOUNT": "7"}, "7")]
)
def test_waiting_threads_sleep_soon_unless_something_is_said_of_it(monkeypatch, capsys, given, spins):
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found = []
    assert outcome(monkeypatch, capsys, lambda: found.append(os.environ.get("GOMP_SPINCOUNT"))) == (0, "")
    assert found == [spins]


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


def test_a_lack_of_memory_is_one_line(monkeypatch, capsys):
    def main():
        raise MemoryError("Unable to allocate 8.00 EiB")

    line = "error: out of memory (Unable to allocate 8.00 EiB): close other programs, or take smaller numbers\n"
    assert outcome(monkeypatch, capsys, main) == (1, line)


@pytest.fixture(autouse=True)
def _heard():
    """Hear Ctrl-C, which a shell lets everything ignore that it starts in the background."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


class Swallowing:
    """What takes Ctrl-C away: Python drops an exception that arises in here."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_that_python_drops_comes_again(monkeypatch, capsys):
    reached = []

    def main():
        Swallowing()
        reached.append("dropped")
        time.sleep(60)

    monkeypatch.setattr(cli, "AGAIN_SECONDS", 0.1)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    assert outcome(monkeypatch, capsys, main)[0] == 130
    assert reached == ["dropped"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_what_ends_before_the_interrupt_comes_again_counts_as_interrupted(monkeypatch, capsys):
    """Else DVC would take the stage for finished, and start the next one."""

    def main():
        Swallowing()

    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    assert outcome(monkeypatch, capsys, main) == (130, "interrupted: run the same command again\n")


def test_an_interrupt_is_ignored_where_the_shell_says_so(monkeypatch, capsys):
    reached = []

    def main():
        os.kill(os.getpid(), signal.SIGINT)
        reached.append("end")

    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert outcome(monkeypatch, capsys, main)[0] == 0
    finally:
        signal.signal(signal.SIGINT, former)
    assert reached == ["end"]


EARLY = """
import os, runpy, signal, sys

class Finder:
    def find_spec(name, path, target=None):
        if name == MODULE:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                os.getpid()
            except KeyboardInterrupt:
                os.write(1, b"swallowed")

sys.meta_path.insert(0, Finder)
sys.argv[0] = "-m"
runpy.run_module("pipeline.pretrain", run_name="__main__")
"""


@pytest.mark.parametrize("module", ["typer", "maskline.core.errors"])
def test_an_interrupt_during_the_first_imports_ends_at_once(module):
    """Before `run` has taken over, and whatever swallows it."""
    program = f"MODULE = {module!r}{EARLY}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted: run the same command again\n")


@pytest.mark.parametrize(("rank", "lines"), [("0", 1), ("1", 0)])
def test_of_several_processes_one_tells_what_all_find_wrong(monkeypatch, capsys, tmp_path, rank, lines):
    """Before they have met, that is: a mistake in the parameters, or an interrupt."""
    params = tmp_path / "params.yaml"
    params.write_text("seed: x\n")
    command = [sys.executable, "-m", "pipeline.pretrain", "--params", str(params)]
    environment = os.environ | {"RANK": rank, "WORLD_SIZE": "2", "LOCAL_RANK": rank}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == lines
