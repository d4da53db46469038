"""The client of OpenAI, unchanged."""

import numpy as np
import openai
import pytest

from tests.serving.conftest import models, running

TEXTS = ["the painter sees the river", "an engine of the city"]


@pytest.fixture(scope="module", name="client")
def _client(pretrained):
    with openai.OpenAI(base_url=f"{pretrained.base_url}/v1", api_key="none is needed", max_retries=0) as client:
        yield client


def expected(pretrained):
    body = {"texts": TEXTS, "normalize": True}
    return np.array(pretrained.post("/embed", json=body).json()["vectors"])


@pytest.mark.parametrize("encoding", ["float", "base64", None])
def test_vectors_come_in_either_encoding(client, pretrained, encoding):
    chosen = {"encoding_format": encoding} if encoding else {}  # without, the client asks for base64 and decodes it
    answer = client.embeddings.create(model="pretrained", input=TEXTS, **chosen)
    vectors = [one.embedding for one in answer.data]
    if encoding == "base64":
        import base64

        vectors = [np.frombuffer(base64.b64decode(one), "<f4") for one in vectors]
    assert np.abs(np.array(vectors) - expected(pretrained)).max() < 1e-6
    assert [one.index for one in answer.data] == [0, 1]
    assert answer.usage.total_tokens == answer.usage.prompt_tokens > 10


def test_a_single_text_and_a_list_are_taken(client):
    (one,) = client.embeddings.create(model="pretrained", input=TEXTS[0], user="ann").data
    two = client.embeddings.create(model="pretrained", input=TEXTS, dimensions=16).data
    assert one.embedding == pytest.approx(two[0].embedding, abs=1e-5)
    assert np.linalg.norm(one.embedding) == pytest.approx(1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"input": [1, 2, 3]}, "input: token ids are of another tokenizer: send texts"),
        ({"input": [[1, 2], [3]]}, "input: token ids are of another tokenizer: send texts"),
        ({"input": []}, "input: List should have at least 1 item"),
        ({"input": {"text": "a"}}, "input: Input should be a valid list"),
        ({"input": ["a", None]}, "input.1: Input should be a valid string"),
        ({"input": ""}, "input has no token"),
        ({"input": ["a", ""]}, "input[1] has no token"),
        ({"input": "a", "dimensions": 8}, "dimensions: this model has 16, and no fewer"),
        ({"input": "the river " * 40}, "input has 82 tokens, and the model reads at most 32"),
    ],
)
def test_what_is_not_taken_is_a_bad_request(client, given, words):
    with pytest.raises(openai.BadRequestError) as refused:
        client.embeddings.create(model="pretrained", **given)
    assert refused.value.body["message"].startswith(words)
    assert refused.value.body["type"] == "invalid_request_error"


def test_what_is_too_long_may_be_cut(client):
    answer = client.embeddings.create(model="pretrained", input="the river " * 40, extra_body={"truncate": True})
    assert answer.usage.prompt_tokens == 82


def test_another_model_is_not_found(client):
    with pytest.raises(
        openai.NotFoundError, match="model 'text-embedding-3-small' is not served here: name pretrained"
    ):
        client.embeddings.create(model="text-embedding-3-small", input="a")
    assert [model.id for model in client.models.list()] == ["pretrained"]


def test_the_key_is_that_of_the_client(tiny_project):
    with (
        running(models(tiny_project) / "sentiment", key="open sesame") as server,
        openai.OpenAI(base_url=f"{server.base_url}/v1", api_key="open sesame") as client,
        openai.OpenAI(base_url=f"{server.base_url}/v1", api_key="another") as stranger,
    ):
        assert client.models.list()
        with pytest.raises(openai.AuthenticationError):
            stranger.models.list()
