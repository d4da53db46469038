"""Every kind of model behind the server, as weights and as a graph, and the graph where there is no torch."""

import json
import subprocess
import sys

import numpy as np
import pytest

from maskline.inference.export import export_graph
from maskline.inference.predict import load_predictor
from maskline.inference.vectors import VectorSettings, open_encoder
from tests.inference.test_export import MODELS, TASKS, close, write_model
from tests.project import ENVIRONMENT, ROOT
from tests.serving.conftest import message, running
from tests.tiny import write_tokenizer

TEXTS = ["w5 w6 w7", "w9 [SEP] w10 w11", "w12 w13 w14 w15 w16 w17 w18"]
LONG = "w8 " * 50

SCRIPT = """
import importlib.abc, json, sys
from pathlib import Path

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "transformers", "safetensors"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import maskline.serving.server
from maskline.serving.model import ServedModel
model = ServedModel(Path(sys.argv[1]))
vectors = [vector.tolist() for vector in model.embed(json.loads(sys.argv[2]), "mean", normalized=False)]
print(json.dumps([model.offers, model.refused["fill-mask"], vectors]))
"""


@pytest.fixture(name="model", scope="module")
def _model(tmp_path_factory):
    """Return a function that makes a model of a kind."""
    root = tmp_path_factory.mktemp("kinds")
    tokenizer = write_tokenizer(root / "tokenizer")
    return lambda kind: write_model(root / kind, tokenizer, *MODELS[kind])


def asked(fields):
    return [dict.fromkeys(fields, text) | {fields[0]: TEXTS[0]} for text in TEXTS]


@pytest.mark.parametrize("kind", TASKS)
def test_each_kind_says_what_predict_says(model, kind):
    directory = model(kind)
    predictor = load_predictor(directory)
    inputs = asked(predictor.fields)
    with running(directory) as client:
        assert client.get("/info").json()["fields"] == list(predictor.fields)
        close(client.post("/predict", json={"inputs": inputs}).json()["predictions"], predictor.predict(inputs).rows)
        long = [dict.fromkeys(predictor.fields, LONG)]
        response = client.post("/predict", json={"inputs": long})
        assert response.status_code == (422 if predictor.predict(long).cut else 200)
        if len(predictor.fields) > 1:
            refused = client.post("/predict", json={"inputs": ["w5"]})
            names = ", ".join(predictor.fields)
            assert message(refused) == f"inputs[0] is a text, and an input has {names}: send an object"
        answer = client.post("/predict", json={"inputs": [*inputs, *long], "truncate": True}).json()
        close(answer["predictions"][:3], predictor.predict(inputs).rows)
        assert answer["truncated"] == ([3] if predictor.predict(long).cut else [])


def test_a_graph_is_served_as_its_model_is_and_without_torch(model, tmp_path):
    directory, graph = model("mean"), tmp_path / "graph"
    export_graph(directory, graph)
    vectors, _ = open_encoder(directory).vectors(TEXTS, VectorSettings())
    with running(graph) as client:
        answer = client.post("/embed", json={"texts": TEXTS}).json()
        assert np.abs(np.array(answer["vectors"]) - vectors).max() < 1e-4
        refused = client.post("/embed", json={"texts": [LONG]})
        assert message(refused).startswith("texts[0] has 52 tokens, and the model reads at most ")
        inputs = asked(["text"])
        found = client.post("/predict", json={"inputs": inputs}).json()["predictions"]
        close(found, load_predictor(directory).predict(inputs).rows)
    command = [sys.executable, "-W", "error", "-c", SCRIPT, str(graph), json.dumps(TEXTS)]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    offers, reason, found = json.loads(done.stdout)
    assert (offers, reason) == (
        ["embed", "predict"],
        "a graph fills no masks: serve the directory that it was exported from",
    )
    assert np.abs(np.array(found) - vectors).max() < 1e-4
