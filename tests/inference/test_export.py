"""Graphs of models of every kind: the same answers as by torch, and in a process that has no torch."""

import json
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
import torch

import tests.adapters.test_directory
from maskline.core import storage
from maskline.core.errors import UserError
from maskline.core.storage import read_json, write_manifest
from maskline.graphs import directory as graphs
from maskline.graphs.directory import GRAPH, open_graph
from maskline.inference import export as module
from maskline.inference.export import Quality, export_graph
from maskline.inference.predict import load_predictor
from maskline.inference.vectors import VectorSettings, open_encoder
from maskline.model.directory import TokenizerFiles, export
from maskline.model.heads import PretrainingModel
from maskline.tasks.classification.task import Classification
from maskline.tasks.similarity.task import Similarity
from maskline.tasks.spans.reading import Reading
from maskline.tasks.spans.task import Spans
from maskline.tasks.tokens.task import Tokens
from maskline.tokenization.model_files import files_for_model
from maskline.tokenization.texts import Packed
from tests.adapters.test_directory import tuning, written
from tests.model.bert.test_convert import randomized
from tests.project import ENVIRONMENT, ROOT
from tests.tiny import MODERNBERT, VOCAB_SIZE, tiny_params, write_tokenizer

SHAPES = {
    "bert": tiny_params({"model.layers": 1, "model.initializer_range": 0.3}).model,
    "modernbert": tiny_params(MODERNBERT | {"model.layers": 1, "model.initializer_range": 0.4}).model,
}
LABELS = ["no", "yes", "perhaps"]
TASKS = {
    "pair": Classification(LABELS, np.ones(3, np.float32), pair=True),
    "mean": Classification(LABELS, np.ones(3, np.float32), pooling="mean"),
    "tokens": Tokens(["O", "B-x", "I-x"]),
    "spans": Spans(Reading(24, 4, 3, 5, no_answer=True), "en"),
    "similarity": Similarity(SimpleNamespace(objective="cosine", max_seq_length=24), (0.0, 5.0)),
}
MODELS = {
    "pretrained": ("bert", None),
    **{kind: ("bert", kind) for kind in TASKS},
    "modern-pretrained": ("modernbert", None),
    "modern-mean": ("modernbert", "mean"),
}
TEXTS = ["w5 w6 w7", "", "w8 " * 50, "w9 [SEP] w10 w11", "@", "w12 w13 w14 w15 w16 w17 w18"]

SCRIPT = """
import importlib.abc, json, runpy, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

ABSENT = {"torch", "transformers", "safetensors", "onnx", "onnxscript", "scipy", "sklearn", "datasets", "dvc",
          "matplotlib", "huggingface_hub", "nervaluate", "httpx"}
sys.meta_path.insert(0, Absent())

from pathlib import Path
from maskline.inference.predict import load_predictor
from maskline.inference.vectors import VectorSettings, open_encoder

root, names, texts = json.loads(sys.argv[1])
said = {}
for name in names:
    directory = Path(root) / name
    said[name] = {"vectors": open_encoder(directory).vectors(texts, VectorSettings())[0].tolist()}
    if "pretrained" not in name:
        predictor = load_predictor(directory)
        found = predictor.predict([dict.fromkeys(predictor.fields, text) | {predictor.fields[0]: texts[0]}
                                   if number % 2 else dict.fromkeys(predictor.fields, text)
                                   for number, text in enumerate(texts)])
        said[name] |= {"rows": found.rows, "cut": found.cut, "windowed": found.windowed}
for command in (["pipeline.predict", str(Path(root) / "tokens"), "w5 w6"],
                ["pipeline.embed", str(Path(root) / "tokens"), sys.argv[2], "--out", sys.argv[3]]):
    sys.argv = command
    try:
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        assert not stop.code, command
print(json.dumps(said))
"""


def write_model(directory, tokenizer, architecture, kind, seed=4):
    """Write a model with random weights."""
    shape = SHAPES[architecture]
    task = TASKS.get(kind)
    network = task.new_model(shape, VOCAB_SIZE, 0.0) if task else PretrainingModel(shape, VOCAB_SIZE)
    model = randomized(network, seed=seed)
    files = TokenizerFiles(
        *files_for_model(tokenizer, shape.max_positions, segments=shape.next_sentence, fills_masks=not task)
    )
    name = model.exported_as if task else model.architecture.pretrained_class(shape, nsp=shape.next_sentence)
    export(directory, model, name, files, "# card\n", {}, task.config() if task else {})
    return directory


@pytest.fixture(name="root", scope="module")
def _root(tmp_path_factory):
    """Models of each kind in `models`, and their graphs in `graphs`."""
    root = tmp_path_factory.mktemp("export")
    tokenizer = write_tokenizer(root / "tokenizer")
    for name, (architecture, kind) in MODELS.items():
        model = write_model(root / "models" / name, tokenizer, architecture, kind)
        assert export_graph(model, root / "graphs" / name).difference < 1e-4
    return root


def asked(fields):
    """Return inputs of odd texts, every second one with the first text in its first field."""
    return [dict.fromkeys(fields, text) | ({fields[0]: TEXTS[0]} if n % 2 else {}) for n, text in enumerate(TEXTS)]


def close(found, expected):
    """Compare nested predictions: numbers to 1e-4, all else exactly."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            close(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            close(a, b)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-4)
    else:
        assert found == expected


def test_without_torch_every_kind_says_what_it_says_with_it(root, tmp_path):
    (tmp_path / "a.txt").write_text("w5\nw6 w7\n")
    arguments = [
        json.dumps([str(root / "graphs"), list(MODELS), TEXTS]),
        str(tmp_path / "a.txt"),
        str(tmp_path / "out"),
    ]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, *arguments],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *printed, last = done.stdout.splitlines()
    assert json.loads(printed[0]).keys() == {"text", "entities"}
    assert printed[1] == f"2 vectors of {SHAPES['bert'].hidden} numbers in {tmp_path / 'out'}"
    said = json.loads(last)
    for name in MODELS:
        model = root / "models" / name
        vectors, cut = open_encoder(model).vectors(TEXTS, VectorSettings())
        assert np.abs(np.array(said[name]["vectors"]) - vectors).max() < 1e-4
        assert cut == 1
        if "pretrained" not in name:
            predictor = load_predictor(model)
            found = predictor.predict(asked(predictor.fields))
            close(said[name]["rows"], found.rows)
            assert (said[name]["cut"], said[name]["windowed"]) == (found.cut, found.windowed)
    assert any(row["entities"] for row in said["tokens"]["rows"])
    assert any(row["answer"] for row in said["spans"]["rows"])


@pytest.mark.parametrize("name", ["pretrained", "modern-pretrained"])
def test_the_heads_of_pretraining_are_outputs(root, name):
    from transformers import AutoModelForMaskedLM, AutoModelForPreTraining

    graph = open_graph(root / "graphs" / name)
    lengths = np.array([3, 7, 1])
    ids = np.random.default_rng(0).integers(5, VOCAB_SIZE, 11)
    (logits,) = graph.of_tokens(Packed(ids, lengths, np.zeros_like(ids)), "logits")
    kind = AutoModelForPreTraining if name == "pretrained" else AutoModelForMaskedLM
    peer = kind.from_pretrained(root / "models" / name).eval()
    with torch.no_grad():
        theirs = [peer(input_ids=torch.from_numpy(part[None])) for part in np.split(ids, np.cumsum(lengths)[:-1])]
    key = "prediction_logits" if name == "pretrained" else "logits"
    assert np.abs(logits - np.concatenate([one[key][0].numpy() for one in theirs])).max() < 1e-4
    if name == "pretrained":
        (pairs,) = graph.of_texts(Packed(ids, lengths, np.zeros_like(ids)), "seq_relationship_logits")
        assert np.abs(pairs - np.concatenate([one.seq_relationship_logits.numpy() for one in theirs])).max() < 1e-4


def test_a_directory_has_tokenizer_labels_and_card(root):
    model, graph = root / "models" / "mean", root / "graphs" / "mean"
    assert {path.name for path in graph.iterdir()} == {
        GRAPH, "config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "README.md", "manifest.json",
    }  # fmt: skip
    assert read_json(graph / "config.json") == read_json(model / "config.json")
    card = (graph / "README.md").read_text()
    assert card.startswith("# card\n\n## Graph\n")
    assert "processor of the export" in card
    raw = (graph / GRAPH).read_bytes()
    assert b"/site-packages/" not in raw
    assert str(ROOT).encode() not in raw


@pytest.fixture(name="tuned")
def _tuned(root, tmp_path, monkeypatch):
    """Return a function that writes a tagger that a method has trained on the pretrained model."""
    monkeypatch.setitem(tests.adapters.test_directory.SHAPES, "bert", SHAPES["bert"])
    shutil.copytree(root / "models" / "pretrained", root / "bert", dirs_exist_ok=True)

    def write(method):
        written(root, tmp_path / method, "tokens", tuning(method), "bert")
        return tmp_path / method

    return write


def test_adapters_are_part_of_a_graph(tuned, tmp_path):
    model = tuned("adapters")
    export_graph(model, tmp_path / "graph")
    inputs = [{"text": text} for text in TEXTS]
    close(load_predictor(tmp_path / "graph").predict(inputs).rows, load_predictor(model).predict(inputs).rows)


def test_lora_is_merged_before_it_becomes_a_graph(tuned):
    model = tuned("lora")
    names = {name for name, _ in module.open_network(model).model.named_parameters()}
    assert names == {name for name, _ in TASKS["tokens"].new_model(SHAPES["bert"], VOCAB_SIZE, 0.0).named_parameters()}


@pytest.fixture(name="traced")
def _traced(root, monkeypatch):
    """Take the graph of the pretrained model as it was written, which saves seconds."""
    monkeypatch.setattr(module, "trace", lambda *_: onnx.load(root / "graphs" / "pretrained" / GRAPH))


@pytest.mark.usefixtures("traced")
def test_int8_is_kept_where_it_is_good_enough(root, tmp_path, monkeypatch):
    (tmp_path / "texts.txt").write_text("w5 w6 w7\nw8 w9\nw10 w11 w12\n")
    model = root / "models" / "pretrained"
    with pytest.raises(UserError, match=r"not good enough \(per tensor .*of the bytes, above 0.27; per channel .*"):
        export_graph(model, tmp_path / "graph", int8=True, data=tmp_path / "texts.txt")
    assert not (tmp_path / "graph").exists()
    monkeypatch.setattr(module, "MOST_BYTES", 0.9)
    found = export_graph(model, tmp_path / "graph", int8=True, data=tmp_path / "texts.txt")
    assert found.bytes < 0.9 * (root / "graphs" / "pretrained" / GRAPH).stat().st_size
    assert found.quality.cosine > 0.99
    assert read_json(tmp_path / "graph" / "manifest.json")["quality"]["score"] is None
    whole, alone = (
        open_encoder(tmp_path / "graph").vectors(texts, VectorSettings())[0] for texts in (TEXTS, TEXTS[:1])
    )
    assert whole[0] == pytest.approx(alone[0], abs=1e-6)
    expected = open_encoder(model).vectors(TEXTS, VectorSettings())[0]
    assert not np.array_equal(whole, expected)
    assert whole == pytest.approx(expected, abs=0.1)


def test_what_int8_has_to_be():
    good = {"scheme": "tensor", "cosine": 0.99, "size": 0.27, "metric": "f1", "score": 0.795, "float_score": 0.8}
    assert not Quality(**good).failures()
    assert not Quality(**good | {"metric": None, "score": None, "float_score": None}).failures()
    assert Quality(**good | {"cosine": 0.98996}).failures() == ["cosine 0.9900, below 0.99"]
    assert Quality(**good | {"cosine": float("nan")}).failures()
    assert Quality(**good | {"score": 0.79}).failures() == ["f1 0.7900, 0.8000 in float32"]
    assert Quality(**good | {"score": float("nan")}).failures()
    assert Quality(**good | {"size": 0.2701}).failures() == ["0.270 of the bytes, above 0.27"]


def test_a_model_says_for_which_task_it_was_trained_and_how():
    alone = {"stage": "finetune reviews", "params": {"seed": 0, "finetune": {"epochs": 1}}}
    assert module.task_and_recipe(alone) == ("reviews", {"epochs": 1})
    others = {"a": {"epochs": 2}, "b": {"epochs": 3}}
    together = {"stage": "multitask", "task": "b", "params": {"finetune": {"epochs": 1}, "tasks": others}}
    assert module.task_and_recipe(together) == ("b", {"epochs": 3})
    assert module.task_and_recipe({"stage": "pretrain", "params": {"seed": 0}})[1] is None
    assert module.task_and_recipe({"imported": {}})[1] is None


@pytest.mark.usefixtures("traced")
def test_a_graph_that_computes_something_else_is_not_written(root, tmp_path):
    other = write_model(tmp_path / "model", root / "tokenizer", "bert", None, seed=5)
    with pytest.raises(UserError, match=r"differs from torch by .*: nothing was written"):
        export_graph(other, tmp_path / "graph")
    assert not (tmp_path / "graph").exists()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / GRAPH).write_bytes(b"no graph"), "is not what export wrote .*pipeline.export"),
        (lambda folder: (folder / "manifest.json").unlink(), "no manifest.json.*pipeline.export"),
        (lambda folder: write_manifest(folder, {}), "was not written by `python -m pipeline.export`"),
    ],
)
def test_a_damaged_directory_is_told(root, tmp_path, spoil, message):
    folder = shutil.copytree(root / "graphs" / "tokens", tmp_path / "graph")
    spoil(folder)
    with pytest.raises(UserError, match=message):
        load_predictor(folder)


def test_what_is_no_graph_is_told(root, tmp_path):
    folder = shutil.copytree(root / "graphs" / "tokens", tmp_path / "graph")
    manifest = read_json(folder / "manifest.json")
    (folder / GRAPH).write_bytes(b"no graph")
    write_manifest(folder, {key: value for key, value in manifest.items() if key != "files"})
    with pytest.raises(UserError, match=r"model.onnx is no graph \(.*\): export it again"):
        load_predictor(folder)


def test_what_gives_vectors_alone_predicts_nothing(root):
    with pytest.raises(UserError, match="holds a BertForPreTraining, fine-tuned for no kind of task"):
        load_predictor(root / "graphs" / "pretrained")


@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_a_machine_that_lacks_what_int8_was_measured_with_is_warned(root, tmp_path, monkeypatch, capfd, precision):
    folder = shutil.copytree(root / "graphs" / "tokens", tmp_path / "graph")
    manifest = read_json(folder / "manifest.json")
    manifest["graph"] |= {"precision": precision, "cpu_flags": ["avx2", "avx512_vnni"]}
    write_manifest(folder, {key: value for key, value in manifest.items() if key != "files"})
    monkeypatch.setattr(graphs, "cpu_flags", lambda: ["avx2"])
    load_predictor(folder)
    warned = "graph: int8 was measured on a processor with avx512_vnni, which this one lacks: it may be"
    assert (warned in capfd.readouterr().err) == (precision == "int8")


def test_what_is_asked_for_wrongly_is_told(root, tmp_path, monkeypatch):
    model = root / "models" / "pretrained"
    for arguments, message in (
        ((model, root / "graphs" / "mean"), "is there already: name another directory with --out"),
        ((root / "graphs" / "mean", tmp_path / "x"), "is a graph already: name the directory of a model"),
        ((tmp_path / "none", tmp_path / "x"), "none is incomplete"),
    ):
        with pytest.raises(UserError, match=message):
            export_graph(*arguments)
    with pytest.raises(UserError, match=r"none.txt is missing, and int8 is measured on texts: name files"):
        export_graph(model, tmp_path / "x", int8=True, data=tmp_path / "none.txt")
    with monkeypatch.context() as patched:
        patched.setattr(module, "MOST_WEIGHTS", 1000)
        with pytest.raises(UserError, match=r"has weights of [\d,]+ bytes, and a graph in one file has room for 1,000"):
            export_graph(model, tmp_path / "x")
    monkeypatch.setattr(graphs, "find_spec", lambda name: None if name == "onnxscript" else name)
    with pytest.raises(UserError, match=r"onnxscript is not installed: pip install -c constraints.txt -e '.\[onnx\]'"):
        export_graph(model, tmp_path / "x")


def test_what_a_killed_export_has_left_is_replaced(root, tmp_path, monkeypatch):
    model, out = root / "models" / "mean", tmp_path / "graph"
    with monkeypatch.context() as patched:
        patched.setattr(module, "write_manifest", None)  # it ends after its last file
        with pytest.raises(TypeError):
            export_graph(model, out)
    storage._unlock(out)  # as the end of the process does
    with pytest.raises(UserError, match=r"graph is incomplete .*: run `python -m pipeline.export` again"):
        load_predictor(out)
    export_graph(model, out)
    load_predictor(out)
