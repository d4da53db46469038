"""Vectors of files: the same bytes whatever happens on the way, and nothing lost or silent."""

import gzip
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from maskline.core.errors import UserError
from maskline.core.storage import read_json
from maskline.inference import documents, growing
from maskline.inference.documents import Columns, Document, chunks, find_files, read_documents
from maskline.inference.embedding import embed
from maskline.inference.growing import Growing
from maskline.inference.shares import Share
from maskline.inference.vectors import VectorSettings, open_encoder, write_vectors
from maskline.model.directory import TokenizerFiles, export
from maskline.model.heads import PretrainingModel
from maskline.tokenization.model_files import files_for_model
from tests.project import ENVIRONMENT, ROOT
from tests.tiny import MODERNBERT, VOCAB_SIZE, tiny_params, write_tokenizer

CPU = torch.device("cpu")
TEXTS = ["a river", "", "the painter sees the garden of city", "مرحبا [SEP] x", "the " * 60, "engine", "b"]


@pytest.fixture(name="model", scope="module")
def _model(tiny_project):
    return open_encoder(tiny_project / "data" / "models" / "pretrained", CPU)


@pytest.fixture(name="small_chunks", autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr(documents, "CHUNK_DOCUMENTS", 3)


def write(path, texts=TEXTS):
    """Write `texts` in the format that the name of `path` says."""
    if path.suffix == ".txt":
        path.write_text("".join(f"{text}\n" for text in texts))
    elif path.suffix == ".csv":
        path.write_text("text\n" + "".join(f'"{text}"\n' for text in texts))
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"text": texts}), path)
    else:
        with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_every_format_gives_the_vectors_that_the_texts_have_together(model, tmp_path, name):
    manifest = write_vectors([write(tmp_path / name)], tmp_path / "out", model, VectorSettings())
    table = pq.read_table(sorted((tmp_path / "out").glob("*.parquet")))
    expected = embed(model.pooler.encoder, model.tokenizer, TEXTS, CPU).vectors
    assert np.abs(np.stack(table["vector"].to_numpy()) - expected).max() < 1e-5
    assert table["vector"].type == pa.list_(pa.float32(), expected.shape[1])
    assert table["id"].to_pylist() == [f"{name}:{number}" for number in range(1, 8)]
    assert (manifest["texts"], manifest["cut"]) == (7, 1)
    assert not (tmp_path / "out.partial").exists()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_npy_has_what_the_manifest_says(model, tmp_path, pooling, dtype):
    records = [{"text": text, "key": number * 7} for number, text in enumerate(TEXTS)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    settings = VectorSettings(pooling, normalized=True, dtype=dtype)
    write_vectors([tmp_path], tmp_path / "out", model, settings, "npy", Columns(id="key"))
    vectors = np.load(tmp_path / "out" / "vectors.npy")
    expected = embed(model.pooler.encoder, model.tokenizer, TEXTS, CPU, pooling).vectors
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert vectors.dtype == dtype
    assert np.abs(vectors - expected).max() < (1e-5 if dtype == "float32" else 1e-3)
    ids = [json.loads(line) for line in (tmp_path / "out" / "ids.jsonl").read_text().splitlines()]
    assert ids == [str(number * 7) for number in range(7)]
    manifest = read_json(tmp_path / "out" / "manifest.json")
    assert {key: manifest[key] for key in ("pooling", "normalized", "dtype")} == {
        "pooling": pooling,
        "normalized": True,
        "dtype": dtype,
    }


KILLED = """
import os, signal, sys
import maskline.inference.vectors
from maskline.inference import documents, growing
documents.CHUNK_DOCUMENTS = 3
append, left = growing.Growing.append, 4
def half(self, name, content):
    global left
    left -= 1
    append(self, name, content if left else content[: len(content) // 2])
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
from pipeline.cli import run
from pipeline.embed import main
if not (child := os.fork()):
    growing.Growing.append = half
    run(main)
assert os.waitpid(child, 0)[1] == signal.SIGKILL
assert '"texts": 3' in open("out.partial/state.json").read()
run(main)
"""


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(model, tiny_project, tmp_path):
    """The first process is killed in the middle of its second chunk, when half of its ids are written."""
    source, directory = write(tmp_path / "a.txt"), tiny_project / "data" / "models" / "pretrained"
    command = [sys.executable, "-c", KILLED, str(directory), "a.txt", "--format", "npy", "--out", "out"]
    environment = ENVIRONMENT | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    write_vectors([source], tmp_path / "whole", model, VectorSettings(), "npy")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert len(contents(tmp_path / "out")) == 3


@pytest.mark.parametrize("writes", range(1, 4))
def test_parquet_that_was_half_written_is_written_again(model, tmp_path, monkeypatch, writes):
    source = write(tmp_path / "a.txt")
    write_vectors([source], tmp_path / "whole", model, VectorSettings())
    append, left = Growing.append, writes

    def half(self, name, content):
        nonlocal left
        left -= 1
        append(self, name, content if left else content[: len(content) // 2])
        if not left:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Growing, "append", half)
        with pytest.raises(KeyboardInterrupt):
            write_vectors([source], tmp_path / "out", model, VectorSettings())
    write_vectors([source], tmp_path / "out", model, VectorSettings())
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert len(contents(tmp_path / "out")) == 4


def test_what_is_left_of_other_work_is_not_gone_on_with(model, tmp_path, monkeypatch):
    class StopError(Exception):
        pass

    def stop(count):
        def advance(done):
            if done == 6:
                raise StopError

        return advance

    def attempt(settings, progress=lambda _: lambda _: None):
        return write_vectors([write(tmp_path / "a.txt")], tmp_path / "out", model, settings, "npy", progress=progress)

    with pytest.raises(StopError):
        attempt(VectorSettings(), stop)
    seen = []
    attempt(VectorSettings(normalized=True), lambda _: seen.append)
    assert seen == [0, 3, 6, 7]
    assert np.allclose(np.linalg.norm(np.load(tmp_path / "out" / "vectors.npy"), axis=1), 1)


def test_chunks_hold_every_document_once_and_what_fits(monkeypatch):
    monkeypatch.setattr(documents, "CHUNK_CHARACTERS", 10)
    texts = ["a" * size for size in (4, 6, 1, 30, 2, 2, 2, 2)]
    found = list(chunks(Document("", "", text) for text in texts))
    assert [[len(document.text) for document in chunk] for chunk in found] == [[4, 6], [1], [30], [2, 2, 2], [2]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "a.txt has no text: leave it out"),
        ("a.jsonl", "", "a.jsonl has no text: leave it out"),
        ("a.csv", "text\n", "a.csv has no text: leave it out"),
        ("a.csv", "title,body\nx,y\n", "a.csv has no column text: it has title, body"),
        ("a.jsonl", '{"text": ["x"]}\n', "column text holds list, not text"),
        ("a.jsonl", '{"text": "\\ud800"}\n', "a.jsonl, record 1 has half a character"),
        ("a.doc", "x", "a.doc is none of .txt, .csv, .tsv, .jsonl, .parquet: name it as what it is"),
        ("b/a.doc", "x", "b has no .txt, .csv, .tsv, .jsonl, .parquet files"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        list(read_documents(find_files([path if path.parent == tmp_path else path.parent]), Columns()))


def test_missing_files_and_names_that_repeat_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"a\.txt is missing: correct its name"):
        find_files([tmp_path / "a.txt"])
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "a.txt")
    with pytest.raises(UserError, match=r"several files are called a\.txt"):
        find_files([tmp_path / "x", tmp_path / "y" / "a.txt"])
    write(tmp_path / "x" / "\udcff.txt")
    with pytest.raises(UserError, match=r"the name of the file '\\udcff.txt' is not UTF-8: .* rename it"):
        find_files([tmp_path / "x"])


@pytest.mark.parametrize("share", [Share(), Share(0, 2)])
def test_a_model_is_not_replaced(model, tiny_project, tmp_path, share):
    out = shutil.copytree(tiny_project / "data" / "models" / "pretrained", tmp_path / "model")
    before = contents(out)
    write(tmp_path / "a.txt")
    with pytest.raises(UserError, match=r"model is what another command wrote, and would go: name another folder"):
        write_vectors([tmp_path / "a.txt"], out, model, VectorSettings(), share=share)
    assert contents(out) == before
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "model"}


def test_a_folder_of_somebody_is_not_emptied(model, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="files that no stage wrote"):
        write_vectors([write(tmp_path / "a.txt")], tmp_path / "out", model, VectorSettings())


def test_nor_is_one_beside_it_that_is_called_like_ours(model, tmp_path):
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match=r"out\.partial has files that are not ours"):
        write_vectors([write(tmp_path / "a.txt")], tmp_path / "out", model, VectorSettings())
    assert (tmp_path / "out.partial" / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("links", [True, False])
def test_what_ends_the_last_step_loses_nothing(model, tmp_path, monkeypatch, links):
    source = write(tmp_path / "a.txt")
    write_vectors([source], tmp_path / "whole", model, VectorSettings(), "npy")

    def stop(*_):
        raise KeyboardInterrupt

    def no_links(*_):
        raise OSError("no links here")

    with monkeypatch.context() as patched:
        patched.setattr(growing, "write_manifest", stop)
        if not links:
            patched.setattr(growing.os, "link", no_links)
        with pytest.raises(KeyboardInterrupt):
            write_vectors([source], tmp_path / "out", model, VectorSettings(), "npy")
    monkeypatch.setattr("maskline.inference.vectors.embed_by", None)  # nothing is computed again
    write_vectors([source], tmp_path / "out", model, VectorSettings(), "npy")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert not (tmp_path / "out.partial").exists()


def test_a_modernbert_gives_vectors_too(tmp_path):
    params = tiny_params(MODERNBERT).model
    files = TokenizerFiles(*files_for_model(write_tokenizer(tmp_path / "tokenizer"), params.max_positions))
    export(tmp_path / "model", PretrainingModel(params, VOCAB_SIZE), "ModernBertForMaskedLM", files, "", {})
    (tmp_path / "a.txt").write_text("a\nb\n")
    manifest = write_vectors(
        [tmp_path / "a.txt"], tmp_path / "out", open_encoder(tmp_path / "model", CPU), VectorSettings()
    )
    assert (manifest["texts"], manifest["dimensions"]) == (2, params.hidden)
