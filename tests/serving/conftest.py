"""Servers of tiny models, in this process on a port of their own."""

import socket
import threading
import time
from contextlib import contextmanager

import httpx
import pytest
import torch

from maskline.inference.indexing import IndexSettings, write_index
from maskline.inference.vectors import open_encoder
from maskline.serving.app import Limits, Service
from maskline.serving.model import ServedModel
from maskline.serving.searching import SearchProcess
from maskline.serving.server import listen, make_server
from tests.conftest import built_once, tiny_articles

SECONDS = 30
"""No answer of a tiny model takes longer, whatever else the machine does."""


@contextmanager
def running(directory, *, index=None, key=None, limits=Limits()):  # noqa: B008
    """Serve a model in a thread; give a client whose `service` can be looked into."""
    service = Service(ServedModel(directory), SearchProcess(index, directory) if index else None, limits)
    listener = listen("127.0.0.1", 0)
    listener.listen(128)
    server = make_server(service, key)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        with httpx.Client(base_url=address, timeout=SECONDS, headers=headers) as client:
            client.service = service
            yield client
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        service.close()
        assert not thread.is_alive()


def models(root):
    """Return where the models of the tiny project are."""
    return root / "data" / "models"


@pytest.fixture(scope="session", name="index")
def _index(tiny_project, tmp_path_factory):
    """An index over tiny articles, made with the pretrained model."""

    def build(folder):
        texts = folder / "texts.txt"
        texts.write_text("".join(f"{article.text}\n" for article in tiny_articles(20)))
        encoder = open_encoder(models(tiny_project) / "pretrained", torch.device("cpu"))
        write_index([texts], folder / "index", encoder, IndexSettings())

    return built_once(tmp_path_factory, "served", build) / "index"


@pytest.fixture(scope="module", name="pretrained")
def _pretrained(tiny_project, index):
    """A client of the pretrained model with an index."""
    with running(models(tiny_project) / "pretrained", index=index) as client:
        yield client


@pytest.fixture(scope="module", name="sentiment")
def _sentiment(tiny_project):
    """A client of the classifier."""
    with running(models(tiny_project) / "sentiment") as client:
        yield client


def until(true):
    """Wait until something is true."""
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def raw(client, *parts):
    """Return a connection on which `parts` were sent as they are."""
    connection = socket.create_connection((client.base_url.host, client.base_url.port), SECONDS)
    for part in parts:
        connection.sendall(part)
    return connection


def message(response):
    """Return the line that says what is wrong; every error has one."""
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert "\n" not in error["message"]
    return error["message"]
