"""What goes wrong on the side of clients: each has a line that says so, and costs nobody else an answer."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from maskline.serving.app import Limits
from tests.serving.conftest import SECONDS, message, models, raw, running, until

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/embed", b"{", 400, "the body is no JSON: Expecting property name enclosed in double quotes at character 1"),
        ("/embed", b"", 422, "the body: "),
        ("/embed", b"[]", 422, "the body: "),
        ("/embed", b'"a"', 422, "the body: "),
        ("/embed", b"\xff\xfe", 400, "the body is no JSON"),
        ("/embed", b'{"texts": ["a"], "texst": 1}', 422, "texst: Extra inputs are not permitted"),
        ("/embed", b'{"texts": "a"}', 422, "texts: Input should be a valid list"),
        ("/embed", b'{"texts": []}', 422, "texts: List should have at least 1 item"),
        ("/embed", b'{"texts": ["a", null]}', 422, "texts.1: Input should be a valid string"),
        ("/embed", b'{"texts": ["a", 7, []]}', 422, "texts.1: Input should be a valid string"),
        ("/embed", b'{"texts": ["a", ""]}', 422, "texts[1] has no token: give a text, or leave it out"),
        ("/embed", b'{"texts": ["  "]}', 422, "texts[0] has no token"),
        ("/embed", b'{"texts": ["\\u200f"]}', 422, "texts[0] has no token"),
        ("/embed", b'{"texts": ["\\ud800"]}', 422, "texts.0: there is half a character"),
        ("/embed", b'{"texts": ["a"], "pooling": "max"}', 422, "pooling: Input should be 'mean' or 'cls'"),
        ("/embed", b'{"texts": ["a"], "truncate": "yes"}', 422, "truncate: Input should be a valid boolean"),
        ("/embed", b'{"texts": ["a"], "\\ud800": 1}', 422, "the body: "),
        ("/predict", b'{"inputs": [{"text": "\\ud800"}]}', 422, "inputs.0.text: there is half a character"),
        ("/v1/embeddings", b'{"model": "sentiment", "input": "\\ud800"}', 400, "input: there is half a character"),
        ("/embed", b"[" * 100_000, 400, "the body is no JSON"),
        (
            "/predict",
            b'{"inputs": [{"text": "a", "second": "b"}]}',
            422,
            "inputs[0] has ['second', 'text'], and an input",
        ),
        ("/predict", b'{"inputs": ["a", {"text": ""}]}', 422, "inputs[1].text has no token"),
        ("/predict", b'{"inputs": [["a"]]}', 422, "inputs.0"),
    ],
)
def test_a_malformed_request_is_told_in_a_line(sentiment, path, body, status, words):
    response = sentiment.post(path, content=body, headers=JSON)
    assert message(response).startswith(words)
    assert response.status_code == status


def test_a_text_to_fill_is_checked(pretrained):
    for text, words in (("a river", "texts[1] has no [MASK]"), ("[MASK] " * 40, "texts[1]: the text has 42 tokens")):
        response = pretrained.post("/fill-mask", json={"texts": ["a [MASK]", text]})
        assert response.status_code == 422
        assert message(response).startswith(words)


def test_a_body_of_ten_megabytes_is_refused_and_not_kept(sentiment):
    body = json.dumps({"texts": ["a" * 10_000_000]}).encode()
    refused = sentiment.post("/embed", content=body, headers=JSON)
    chunked = sentiment.post("/embed", content=(body[start : start + 65536] for start in range(0, len(body), 65536)))
    for response in (refused, chunked):
        assert response.status_code == 413
        assert message(response).startswith("the body has more than 4,194,304 bytes")
    assert sentiment.post("/embed", json={"texts": ["a"]}).status_code == 200


def test_a_hundred_thousand_texts_are_refused(sentiment):
    for path, name in (("/embed", "texts"), ("/predict", "inputs")):
        response = sentiment.post(path, json={name: ["a"] * 100_000})
        assert response.status_code == 422
        assert message(response) == f"{name} has 100,000, and at most 1,024 are taken at a time"


class Slow:
    """Holds the model of a service at its first batch until it is let go."""

    def __init__(self, client):
        self.service = client.service
        self.batches = []
        self.begun, self.go = threading.Event(), threading.Event()
        self.embed = self.service.model.embed
        self.service.model.embed = self

    def __call__(self, texts, *arguments, **named):
        self.batches.append(list(texts))
        self.begun.set()
        assert self.go.wait(SECONDS)
        return self.embed(texts, *arguments, **named)


def request(texts):
    body = json.dumps({"texts": texts}).encode()
    head = f"POST /embed HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_who_hangs_up_is_dropped_from_the_queue(tiny_project):
    with running(models(tiny_project) / "sentiment") as client:
        slow = Slow(client)
        waiting = client.service.batcher
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(client.post, "/embed", json={"texts": ["a garden"]})
            assert slow.begun.wait(SECONDS)
            gone = raw(client, request(["a bad garden"] * 100))
            until(lambda: waiting.waiting > 400)
            gone.close()
            until(lambda: waiting.waiting == 0)
            slow.go.set()
            assert first.result().status_code == 200
        assert slow.batches == [["a garden"]]
        assert 'maskline_requests_total{path="/embed",status="499"} 1.0' in client.get("/metrics").text


def test_who_hangs_up_while_sending_leaves_no_trace(sentiment):
    raw(sentiment, request(["a garden"])[:-4]).close()
    until(lambda: 'path="/embed",status="499"' in sentiment.get("/metrics").text)
    assert sentiment.post("/embed", json={"texts": ["a"]}).status_code == 200


def test_more_than_may_wait_is_asked_to_come_again(tiny_project):
    with running(models(tiny_project) / "sentiment", limits=Limits(waiting=50)) as client:
        slow = Slow(client)
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(client.post, "/embed", json={"texts": ["a garden"]})
            assert slow.begun.wait(SECONDS)
            second = pool.submit(client.post, "/embed", json={"texts": ["a garden"] * 10})
            until(lambda: client.service.batcher.waiting)
            refused = client.post("/embed", json={"texts": ["a garden"] * 10})
            slow.go.set()
            assert (first.result().status_code, second.result().status_code) == (200, 200)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert message(refused).startswith("too much is waiting: ask again in")
        assert client.post("/embed", json={"texts": ["a garden"] * 10}).status_code == 200


def test_a_fault_of_the_model_is_told_and_costs_nobody_else_an_answer(tiny_project, capsys):
    with running(models(tiny_project) / "sentiment") as client:
        embed = client.service.model.embed

        def broken(texts, *arguments, **named):
            if "a bad garden" in texts:
                raise RuntimeError("something of ours")
            return embed(texts, *arguments, **named)

        client.service.model.embed = broken
        with ThreadPoolExecutor(8) as pool:
            asked = ["a bad garden" if number == 5 else "a garden" for number in range(32)]
            answers = list(pool.map(lambda text: client.post("/embed", json={"texts": [text]}), asked))
        assert [answer.status_code for answer in answers] == [500 if text == "a bad garden" else 200 for text in asked]
        assert message(answers[5]) == "the server failed: its log says how"
    assert capsys.readouterr().err.count("RuntimeError: something of ours") == 1


def test_many_threads_of_clients_find_no_tokenizer_borrowed(sentiment):
    """Tokenizers that one thread changes while another uses them fail with `Already borrowed`."""
    long = "a good garden " * 50

    def ask(number):
        path, name = (("/embed", "texts"), ("/predict", "inputs"))[number % 2]
        texts = [long, "a bad garden"] if number % 3 else ["a garden"]
        return sentiment.post(path, json={name: texts, "truncate": True}).status_code

    with ThreadPoolExecutor(24) as pool:
        assert set(pool.map(ask, range(240))) == {200}


def test_health_is_told_while_a_large_batch_runs(sentiment):
    texts = ["the painter sees the river of the city"] * 1_000
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(sentiment.post, "/embed", json={"texts": texts}) for _ in range(3)]
        taken = []
        while not all(one.done() for one in asked):
            started = time.perf_counter()
            assert sentiment.get("/health").status_code == 200
            taken.append(time.perf_counter() - started)
        assert {one.result().status_code for one in asked} == {200}
    assert len(taken) > 2
    assert sorted(taken)[len(taken) // 2] < 0.1
