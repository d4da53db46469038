import os
import subprocess
import sys
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

from benchmarks import serve
from benchmarks.peers import textbook
from tests.conftest import tiny_articles
from tests.serving.conftest import models, running

TEXTS = [article.text[:60] for article in tiny_articles(12)]


@pytest.fixture(name="directory")
def _directory(tiny_project):
    return models(tiny_project) / "pretrained"


@pytest.fixture(name="asked")
def _asked(monkeypatch):
    """Serve in this process; give the modules that were to be started."""
    modules = []

    @contextmanager
    def serving(module, directory):
        modules.append(module)
        with running(directory) as client:
            yield f"{client.base_url.host}:{client.base_url.port}", os.getpid()

    monkeypatch.setattr(serve, "serving", serving)
    monkeypatch.setattr(serve, "WARMUP_SECONDS", 0.05)
    monkeypatch.setattr(serve, "CONNECTIONS", 5)
    monkeypatch.setattr(serve, "LARGE", 24)
    return modules


def test_the_rows_of_a_server(directory, asked):
    embed, peer, spread, faults, difference, health = serve.rows_of(directory, TEXTS, 0.3)
    assert asked == ["pipeline.serve", "benchmarks.peers.textbook"]
    assert (embed.peer, embed.target, embed.bound) == ("embed on the same texts", 0.8, "at least")
    assert (peer.peer, peer.target) == ("FastAPI, encode in the handler", None)
    assert spread.ratio >= 1
    assert (faults.ratio, faults.met) == (0, True)
    assert (difference.ratio < 1e-5, difference.met, difference.bound) == (True, True, "at most")
    assert health.ratio > 0
    assert "5 connections" in embed.note


def test_memory_is_that_after_many_requests_over_that_after_some(directory, asked):
    row = serve.memory_row(directory, TEXTS, 100)
    after, before = row.series
    assert row.ratio == after.median / before.median > 0
    assert "MB after 20 requests" in row.note


def test_other_vectors_and_faults_are_noticed(directory):
    with running(directory) as client:
        address = f"{client.base_url.host}:{client.base_url.port}"
        alone = [serve.ask(address, [text]) for text in TEXTS]
        load = serve.under_load(address, TEXTS, [vector + 1 for vector in alone], serve.until_count(20))
        assert load.difference == pytest.approx(1, abs=1e-3)
        assert (len(load.taken), load.faults) == (20, 0)
        refused = serve.under_load(address, [""], alone, serve.until_count(3))
        assert (len(refused.taken), refused.faults) == (0, 3)
    gone = serve.under_load(address, TEXTS, alone, serve.until_count(3))
    assert gone.faults == 3


def test_texts_are_of_one_to_six_sentences():
    found = serve.mixed([f"s{number}" for number in range(2_100)])
    assert [len(text.split()) for text in found[:7]] == [1, 2, 3, 4, 5, 6, 1]
    assert found[1] == "s1 s2"
    assert (len(found), found[-1].split()[-1]) == (600, "s2099")


@pytest.mark.filterwarnings("default")
def test_the_textbook_answers_the_same(directory):
    import asyncio

    async def ask():
        transport = httpx.ASGITransport(textbook.make_app(directory))
        async with httpx.AsyncClient(transport=transport, base_url="http://textbook") as client:
            return (await client.post("/embed", json={"texts": TEXTS})).json()["vectors"]

    theirs = asyncio.run(ask())
    with running(directory) as client:
        ours = client.post("/embed", json={"texts": TEXTS}).json()["vectors"]
    assert np.abs(np.array(ours) - np.array(theirs)).max() < 1e-5


def test_a_server_is_a_process_of_its_own_that_ends(monkeypatch):
    program = "print('a at http://127.0.0.1:1234 (embed)', flush=True); import time; time.sleep(60)"
    started = []
    popen = subprocess.Popen

    def start(command, **named):
        started.append(popen([sys.executable, "-c", program], **named))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", start)
    with serve.serving("pipeline.serve", "model") as (address, pid):
        assert (address, pid) == ("127.0.0.1:1234", started[0].pid)
    assert started[0].returncode is not None
