"""What is answered, and that it is what the commands say."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from maskline.inference.fill import fill_masks
from maskline.inference.predict import load_predictor
from maskline.inference.vectors import VectorSettings, open_encoder
from maskline.model.directory import load_pretraining_model
from maskline.tokenization.load import load_tokenizer
from tests.conftest import tiny_articles
from tests.serving.conftest import message, models, running, until

CPU = torch.device("cpu")
TEXTS = [article.text for article in tiny_articles(30)]
LONG = "the painter sees the river " * 30


@pytest.mark.parametrize(("pooling", "normalized"), [("mean", False), ("cls", True)])
def test_vectors_are_those_of_embed(pretrained, tiny_project, pooling, normalized):
    opened = open_encoder(models(tiny_project) / "pretrained", CPU)
    expected, _ = opened.vectors(TEXTS, VectorSettings(pooling, normalized))
    body = {"texts": TEXTS, "pooling": pooling, "normalize": normalized, "truncate": True}
    answer = pretrained.post("/embed", json=body).json()
    assert np.abs(np.array(answer["vectors"]) - expected).max() < 1e-6
    assert answer["model"] == "pretrained"
    assert len(answer["tokens"]) == len(TEXTS)


def test_who_else_asks_changes_no_answer(sentiment):
    def ask(path, text):
        body = {"texts" if path == "/embed" else "inputs": [text], "truncate": True}
        response = sentiment.post(path, json=body)
        assert response.status_code == 200, response.text
        found = response.json()
        return found["vectors"][0] if path == "/embed" else [*found["predictions"][0]["probabilities"].values()]

    asked = [(path, text) for text in [*TEXTS, LONG] for path in ("/embed", "/predict")] * 2
    alone = [ask(*one) for one in asked]
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda one: ask(*one), asked))
    for one, other in zip(alone, together, strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-5)


def test_predictions_are_those_of_predict(sentiment, tiny_project):
    predictor = load_predictor(models(tiny_project) / "sentiment", CPU)
    inputs = [{"text": text} for text in ["a good garden", "a bad one"]]
    expected = predictor.predict(inputs).rows
    for sent in (inputs, [one["text"] for one in inputs], [inputs[0], inputs[1]["text"]]):
        found = sentiment.post("/predict", json={"inputs": sent}).json()["predictions"]
        assert [row["label"] for row in found] == [row["label"] for row in expected]
        assert [row["probability"] for row in found] == pytest.approx([row["probability"] for row in expected])


def test_which_inputs_were_cut_is_found_out_and_refused_with_their_length(sentiment):
    inputs = ["a garden", LONG, *["a good garden"] * 5, LONG]
    answer = sentiment.post("/predict", json={"inputs": inputs, "truncate": True}).json()
    assert answer["truncated"] == [1, 7]
    alone = sentiment.post("/predict", json={"inputs": [LONG], "truncate": True}).json()
    found, expected = answer["predictions"][7]["probabilities"], alone["predictions"][0]["probabilities"]
    assert found == pytest.approx(expected, abs=1e-5)
    refused = sentiment.post("/predict", json={"inputs": inputs})
    assert refused.status_code == 422
    tokens = alone["tokens"][0]
    assert message(refused).startswith(
        f"inputs[1] is longer than the model reads (text {tokens} tokens), and the model"
    )
    assert refused.json()["error"]["code"] == "context_length_exceeded"


def test_a_text_that_is_too_long_is_refused_with_its_length_unless_it_may_be_cut(pretrained, tiny_project):
    refused = pretrained.post("/embed", json={"texts": ["a river", LONG]})
    answer = pretrained.post("/embed", json={"texts": ["a river", LONG], "truncate": True}).json()
    assert answer["truncated"] == [1]
    assert refused.status_code == 422
    assert message(refused) == (
        f"texts[1] has {answer['tokens'][1]} tokens, and the model reads at most 32: shorten it, or send "
        '"truncate": true'
    )
    words = LONG.split()
    for number in range(len(words)):
        body = {"texts": [" ".join(words[: number + 1])], "truncate": True}
        answer = pretrained.post("/embed", json=body).json()
        too_long = answer["tokens"][0] > 32
        assert answer["truncated"] == ([0] if too_long else [])
        refused = pretrained.post("/embed", json=body | {"truncate": False})
        assert refused.status_code == (422 if too_long else 200)
        if answer["truncated"]:
            break
    assert number > 5


def test_masks_are_filled_as_by_the_command(pretrained, tiny_project):
    directory = models(tiny_project) / "pretrained"
    model, tokenizer = load_pretraining_model(directory), load_tokenizer(directory)
    texts = ["The painter sees the [MASK].", "The [MASK] of [MASK]."]
    answer = pretrained.post("/fill-mask", json={"texts": texts, "top": 3}).json()
    for text, found in zip(texts, answer["fills"], strict=True):
        for mask, expected in zip(found, fill_masks(model, tokenizer, text, 3, CPU), strict=True):
            assert [(one["token"], one["text"]) for one in mask] == [(fill.token, fill.text) for fill in expected]
            assert [one["probability"] for one in mask] == pytest.approx([fill.probability for fill in expected])


@pytest.mark.parametrize("method", ["fused", "bm25", "flat"])
def test_a_search_finds_what_the_index_has(pretrained, index, method):
    from maskline.inference.search import SearchIndex

    query = "the painter of the city"
    answer = pretrained.post("/search", json={"query": query, "method": method, "k": 4}).json()
    vector = np.array(pretrained.post("/embed", json={"texts": [query], "normalize": True}).json()["vectors"][0])
    opened = SearchIndex(index)
    expected = opened.hits(opened.ranking(method, query, vector.astype(np.float32), 4))
    assert [hit["id"] for hit in answer["hits"]] == [hit.id for hit in expected]
    assert answer["hits"][0]["score"] == pytest.approx(expected[0].score, rel=1e-5)
    assert answer["hits"][0]["snippet"] == expected[0].snippet


def test_a_search_says_what_it_cannot_do(pretrained):
    for body, words in (
        ({"query": "a", "method": "ivf"}, "method: the index has no ivf; it has fused, bm25, flat"),
        ({"query": " "}, "query has no token"),
        ({"query": " ", "method": "bm25"}, "the query is empty"),
        ({"query": "a", "k": 0}, "k: Input should be greater than or equal to 1"),
        ({"query": LONG}, "query has 1"),
    ):
        response = pretrained.post("/search", json=body)
        assert response.status_code == 422
        assert message(response).startswith(words)
    assert pretrained.post("/search", json={"query": LONG, "truncate": True}).json()["truncated"]
    assert pretrained.post("/search", json={"query": "zebra", "method": "bm25"}).json()["hits"] == []


def test_an_index_whose_process_was_killed_answers_the_next_query(pretrained):
    process = pretrained.service.index._process
    process.kill()
    process.join()
    first, second = (pretrained.post("/search", json={"query": "river", "method": "bm25"}) for _ in range(2))
    assert first.status_code in {200, 503}
    assert second.status_code == 200


def test_an_index_whose_process_was_killed_with_a_query_unread_is_asked_again(pretrained):
    process = pretrained.service.index._process
    os.kill(process.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(pretrained.post, "/search", json={"query": "river", "method": "bm25"})
        until(lambda: pretrained.service.index._waiting)
        time.sleep(0.2)  # it is in the pipe
        os.kill(process.pid, signal.SIGKILL)
        assert asked.result().status_code == 503
        assert message(asked.result()).startswith("the process of the index ended")
    assert pretrained.post("/search", json={"query": "river", "method": "bm25"}).status_code == 200


def test_an_index_of_another_model_is_refused(tiny_project, index):
    from maskline.core.errors import UserError
    from maskline.serving.searching import SearchProcess

    with pytest.raises(UserError, match="was made with another model"):
        SearchProcess(index, models(tiny_project) / "sentiment")
    with pytest.raises(UserError, match="is no index"):
        SearchProcess(tiny_project, models(tiny_project) / "pretrained")


def test_what_the_model_has_not_is_not_there(sentiment):
    for path in ("/fill-mask", "/search", "/nowhere"):
        response = sentiment.post(path, json={})
        assert response.status_code == 404
        assert message(response) == f"POST '{path}': Not Found; /docs lists what there is"
    response = sentiment.get("/predict")
    assert response.status_code == 405
    assert message(response).startswith("GET '/predict': Method Not Allowed")


def test_health_information_and_counts(pretrained, sentiment, index):
    assert pretrained.get("/health").json() == {"status": "ok"}
    info = pretrained.get("/info").json()
    assert info["offers"] == ["embed", "fill-mask", "search"]
    assert info["index"]["methods"] == ["fused", "bm25", "flat"]
    assert info["absent"] == {"predict": "this model has nothing for predict"}
    assert (info["max_tokens"], info["dimensions"]) == (32, 16)
    info = sentiment.get("/info").json()
    assert (info["offers"], info["fields"], info["index"]) == (["embed", "predict"], ["text"], None)

    def count(name):
        text = sentiment.get("/metrics").text
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))

    before = count('maskline_requests_total{path="/embed",status="200"}'), count("maskline_tokens_total")
    tokens = sentiment.post("/embed", json={"texts": ["a garden", "a good garden"]}).json()["tokens"]
    after = count('maskline_requests_total{path="/embed",status="200"}'), count("maskline_tokens_total")
    assert (after[0] - before[0], after[1] - before[1]) == (1, sum(tokens))
    sentiment.get("/of-nobody")
    assert count('maskline_requests_total{path="other",status="404"}') >= 1
    assert "of-nobody" not in sentiment.get("/metrics").text


@pytest.mark.parametrize("path", ["/", "/health", "/info"])
def test_what_looks_after_servers_may_ask_for_the_head_alone(sentiment, path):
    whole, head = sentiment.get(path), sentiment.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.content))
    assert sentiment.head("/embed").status_code == 405


def test_the_reference_names_every_path_and_loads_nothing_from_elsewhere(pretrained):
    page = pretrained.get("/docs").text
    for path in pretrained.get("/openapi.json").json()["paths"]:
        assert path in page
    assert "truncate" in page
    assert "http" not in page


def test_a_key_is_needed_where_there_is_one(tiny_project):
    with running(models(tiny_project) / "sentiment", key="open sesame") as client:
        assert client.post("/embed", json={"texts": ["a"]}).status_code == 200
        for header in ("", "Bearer open sesam", "Bearer öpen", "Basic open sesame"):
            refused = client.get("/info", headers={"authorization": header.encode()})
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
            assert message(refused).startswith("the key is missing or wrong")
        for path in ("/health", "/", "/docs"):
            assert client.get(path, headers={"authorization": ""}).status_code == 200
        assert client.get("/metrics", headers={"authorization": ""}).status_code == 401
