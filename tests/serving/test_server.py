"""The command: what it says, and how it ends."""

import gc
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import pipeline.serve
from maskline.core.errors import UserError
from maskline.serving.app import Limits, Service
from maskline.serving.model import ServedModel
from maskline.serving.server import listen, serve
from pipeline.cli import run
from tests.project import ROOT
from tests.serving.conftest import SECONDS, models, until


def start(*arguments, **environment):
    command = [sys.executable, "-m", "pipeline.serve", *map(str, arguments), "--port", "0"]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(name="server")
def _server(tiny_project, index):
    with start(models(tiny_project) / "pretrained", "--index", index) as process:
        yield process
        process.kill()


def test_told_to_stop_under_load_it_answers_what_was_asked(server):
    line = server.stdout.readline()
    address = re.fullmatch(r"pretrained at (http://127\.0\.0\.1:\d+) \(embed, fill-mask, search\); .*\n", line)[1]
    texts = ["the painter sees the river of the city"] * 400
    with httpx.Client(base_url=address, timeout=SECONDS, limits=httpx.Limits(max_connections=None)) as client:

        def arrived():
            text = client.get("/metrics").text
            return float(re.search(r"maskline_waiting_tokens ([\d.e+]+)", text)[1])

        assert client.post("/search", json={"query": "a river"}).status_code == 200
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(client.post, "/embed", json={"texts": texts}) for _ in range(8)]
            until(lambda: arrived() > 10_000)
            server.terminate()
            answers = [one.result() for one in asked]
        statuses = [answer.status_code for answer in answers]
        assert set(statuses) == {200}
        assert {len(answer.json()["vectors"]) for answer in answers} == {400}
    out, err = server.communicate(timeout=SECONDS)
    assert (server.returncode, out) == (0, "stopped\n")
    assert re.fullmatch(r"without predict: .*\n", err)
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)


def test_ctrl_c_stops_it_as_well(tiny_project):
    """In the main thread of this process, where a signal left behind would end the tests."""
    former = signal.getsignal(signal.SIGINT)
    with listen("127.0.0.1", 0) as listener:
        service = Service(ServedModel(models(tiny_project) / "sentiment"), None, Limits())
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        frozen = []
        serve(service, listener, None, lambda: (frozen.append(gc.get_freeze_count()), timer.start()))
    assert frozen[0] > 10_000
    assert gc.get_freeze_count() == 0
    assert signal.getsignal(signal.SIGINT) == former
    assert not service.batcher._thread.is_alive()


@pytest.fixture(name="command")
def _command(monkeypatch, capsys):
    """Return a function that runs the command up to where clients may ask; it gives exit code, output and errors."""

    def command(*arguments):
        def served(service, listener, key, started):
            started()
            service.close()

        monkeypatch.setattr("maskline.serving.server.serve", served)
        monkeypatch.setattr(sys, "argv", ["serve", *map(str, arguments), "--port", "0"])
        with pytest.raises(SystemExit) as stop:
            run(pipeline.serve.main)
        return stop.value.code, *capsys.readouterr()

    return command


def test_what_cannot_be_served_is_told_in_a_line(command, tiny_project, tmp_path, monkeypatch):
    model = models(tiny_project) / "sentiment"
    for arguments, words in (
        ([tmp_path], f"error: {tmp_path} is no model (manifest.json is missing)"),
        ([model, "--host", "nowhere.invalid"], "error: nowhere.invalid, port 0: "),
        ([model, "--index", tmp_path], f"error: {tmp_path} is no index"),
    ):
        code, out, err = command(*arguments)
        assert (code, out) == (1, "")
        assert err.startswith(words)
        assert err.count("\n") == 1
    damaged = shutil.copytree(model, tmp_path / "damaged")
    weights = damaged / "model.safetensors"
    weights.write_bytes(b"x" * weights.stat().st_size)
    line = f"error: {damaged} holds nothing to serve: {weights} is not what finetune@damaged wrote (truncated or "
    assert command(damaged)[2].startswith(line)
    for name in ("", " ", "a\nb", "\udcff"):
        code, out, err = command(model, "--name", name)
        assert (code, out, err) == (1, "", f"error: {name!a} is no name that clients can send: give one with --name\n")


@pytest.mark.parametrize("key", ["", " ", "key\n", " key", "k\u00e9y", "\udcff", "a\tb"])
def test_a_key_that_no_header_holds_is_refused(command, tiny_project, monkeypatch, key):
    monkeypatch.setenv("MASKLINE_API_KEY", key)
    code, out, err = command(models(tiny_project) / "sentiment")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("error: MASKLINE_API_KEY is empty, or has what no header of HTTP holds")


def test_whoever_reaches_it_may_ask_unless_there_is_a_key(command, tiny_project, monkeypatch):
    arguments = (models(tiny_project) / "sentiment", "--host", "0.0.0.0", "--name", "tweets")  # noqa: S104
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "")
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY")
    code, out, err = command(*arguments)
    assert (code, os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"]) == (0, "64")
    assert re.fullmatch(r"tweets at http://0\.0\.0\.0:\d+ \(embed, predict\); Ctrl-C stops it\nstopped\n", out)
    assert "whoever reaches 0.0.0.0 may ask: MASKLINE_API_KEY sets a key\n" in err
    monkeypatch.setenv("MASKLINE_API_KEY", "open sesame")
    assert "may ask" not in command(*arguments)[2]


def test_an_address_that_is_taken_is_told():
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"127\.0\.0\.1, port {port}: Address already in use; give another"):
            listen("127.0.0.1", port)


def test_of_two_that_start_at_once_one_is_told_so_and_ends(tiny_project):
    """Each was bound while it loaded its model, which the system allows as long as none of them listens."""
    model = ServedModel(models(tiny_project) / "sentiment")
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with listen("127.0.0.1", port) as second:
            first.listen()
            service = Service(model, None, Limits())
            with pytest.raises(UserError, match=rf"127\.0\.0\.1, port {port}: Address already in use; give another"):
                serve(service, second, None)
    assert not service.batcher._thread.is_alive()


def test_answers_do_not_wait_for_more_to_send():
    """asyncio sets TCP_NODELAY where it knows the protocol; otherwise each answer would take 40 ms."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_the_server_itself_needs_no_torch():
    script = "import maskline.serving.model, maskline.serving.server, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_is_not_installed_is_named(monkeypatch):
    from maskline.serving import installed

    monkeypatch.setattr(installed, "find_spec", lambda name: None if name == "uvicorn" else name)
    with pytest.raises(UserError, match=r"uvicorn is not installed: pip install -c constraints.txt -e '\.\[serve\]'"):
        installed.check_installed()
