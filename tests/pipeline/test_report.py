"""The command that writes a run, or several, as one page."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from http.client import HTTPConnection

import pytest

from pipeline.report import main
from tests.page import toy
from tests.project import ENVIRONMENT, ROOT, call

SOURCES = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
PARAMS = "seed: {seed}\ncorpus: {{language: en}}\ntasks: {{sentiment: classification}}\nmodel: {{layers: {layers}}}\n"


def report(folder, *arguments):
    command = [sys.executable, "-m", "pipeline.report", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT | SOURCES, capture_output=True, text=True, check=False)


def leave(folder, *, seed=0, layers=2, loss=4.5):
    """Leave a run with its settings in a folder."""
    toy.made(folder, seed=seed, loss=loss)
    (folder / "params.yaml").write_text(PARAMS.format(seed=seed, layers=layers))
    (folder / "tasks").mkdir(exist_ok=True)
    (folder / "tasks" / "sentiment.yaml").write_text("finetune: {epochs: 2}\n")
    return folder


def sections(path):
    return re.findall(r'<section id="([^"]+)"', path.read_text(encoding="utf-8"))


def test_the_page_of_this_folder_is_held_against_what_is_committed(tmp_path):
    leave(tmp_path)
    call(tmp_path, "git init -q && git add -A && git commit -qm reference")
    leave(tmp_path, layers=4)
    done = report(tmp_path)
    assert (done.returncode, done.stdout) == (0, "reports/report.html\n"), done.stderr
    content = (tmp_path / "reports" / "report.html").read_text(encoding="utf-8")
    assert "<code>model.layers</code></th><td><code>4</code></td><td><code>2</code></td>" in content
    assert str(tmp_path) not in content


def test_a_folder_elsewhere_without_git(tmp_path):
    main([leave(tmp_path / "قطة $5")], out=tmp_path / "page.html")
    assert "No committed run to hold it against" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_several_folders_are_compared(tmp_path):
    runs = [("a", 2, 0), ("a", 2, 1), ("b", 3, 0), ("b", 3, 1)]
    places = [
        leave(tmp_path / f"{name}-seed{seed}", seed=seed, layers=layers, loss=4 + seed / 10 + layers)
        for name, layers, seed in runs
    ]
    main(places, reference="b", out=tmp_path / "page.html")
    assert sections(tmp_path / "page.html") == ["experiments", "curves-0", "curves-1", "pairs", "parameters"]
    content = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "held against b" in content
    assert str(tmp_path) not in content


def test_a_page_that_is_too_large_is_written_and_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("maskline.page.document.MOST_BYTES", 1000)
    main([leave(tmp_path)], out=tmp_path / "page.html")
    assert re.search(r"page.html has [\d,]+ bytes, more than the 1,000 that a mail takes", capsys.readouterr().err)


def test_live_serves_this_folder_until_ctrl_c_which_is_no_failure(tmp_path):
    leave(tmp_path)
    command = [sys.executable, "-m", "pipeline.report", "--live", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT | SOURCES, stdout=subprocess.PIPE, text=True
    ) as served:
        said = re.fullmatch(
            r"http://127\.0\.0\.1:(\d+)/ shows what trains here, until Ctrl-C\n", served.stdout.readline()
        )
        connection = HTTPConnection("127.0.0.1", int(said[1]))
        connection.request("GET", "/state")
        shown = json.loads(connection.getresponse().read())
        served.send_signal(signal.SIGINT)
        assert served.stdout.read() == "stopped\n"
    assert served.returncode == 0
    assert "numbers" in [section["key"] for section in shown["sections"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--live", "here"], "--live shows what trains in this folder"),
        (["--experiments", "here"], "--experiments takes those of DVC"),
        (["--rev", "HEAD"], "--rev names commits of DVC experiments: add --experiments"),
        (["--reference", "a"], "--reference names one of several runs"),
        ([], "params.yaml is missing"),
        (["--experiments"], "name the folders of the runs"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path, arguments, said):
    done = report(tmp_path, *arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_experiments_of_dvc_from_a_run_of_every_stage(reproduced, tmp_path):
    folder = shutil.copytree(reproduced, tmp_path / "copy", symlinks=True)
    done = call(folder, "python -m pipeline.report && python -m pipeline.report --experiments --out compared.html")
    assert done.stdout == "reports/report.html\ncompared.html\n"
    found = sections(folder / "reports" / "report.html")
    assert found == [
        "run",
        "corpus",
        "tokenizer",
        "pretraining",
        "training-0",
        "numbers",
        "task-0",
        "samples",
        "provenance",
    ]
    content = (folder / "reports" / "report.html").read_text(encoding="utf-8")
    assert '<p class="note">' not in content
    assert "The driver of the bus was very rude" in content
    assert len(content.encode()) < 2_000_000
    assert sections(folder / "compared.html")[:2] == ["experiments", "curves-0"]
    assert call(folder, "git status --short").stdout == "?? compared.html\n"
