"""Vectors, an index and a search from the command line."""

import json
import sys

import pytest

from maskline.core.storage import read_json
from pipeline import embed, index, search
from pipeline.cli import run

MODEL = "data/models/pretrained"


@pytest.fixture(name="folder", scope="module")
def _folder(tiny_project, tmp_path_factory):
    """A folder with texts and, as `data`, the tiny project's."""
    folder = tmp_path_factory.mktemp("search")
    (folder / "data").symlink_to(tiny_project / "data")
    texts = ["the painter sees the river", "an engine of the city", "a garden " * 30]
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text in texts))
    (folder / "table.csv").write_text("title,body\nGardens,the garden of mountain\n")
    return folder


@pytest.fixture(name="ask")
def _ask(folder, monkeypatch, capsys):
    """Return a function that runs a command in `folder`; it gives exit code, output and errors."""
    monkeypatch.chdir(folder)

    def ask(command, *arguments):
        monkeypatch.setattr(sys, "argv", [command.__name__.rpartition(".")[2], *arguments])
        with pytest.raises(SystemExit) as stop:
            run(command.main)
        return stop.value.code, *capsys.readouterr()

    return ask


def test_from_texts_to_vectors(ask, folder):
    arguments = ("--out", "vectors", "--format", "npy", "--pooling", "cls", "--normalize", "--dtype", "float16")
    code, output, errors = ask(embed, MODEL, "texts.txt", *arguments)
    assert (code, output) == (0, "3 vectors of 16 numbers in vectors\n")
    assert errors == "1 of 3 texts are longer than the model reads and were cut\n"
    manifest = read_json(folder / "vectors" / "manifest.json")
    assert [manifest[key] for key in ("pooling", "normalized", "dtype", "format")] == ["cls", True, "float16", "npy"]


def test_from_documents_to_answers(ask, folder):
    code, output, _ = ask(index, "texts.txt", "--out", "index", "--hnsw", "--model", MODEL)
    assert (code, output) == (0, "3 vectors of 16 numbers in index\n")
    asked = ("--index", "index", "--model", MODEL)
    code, output, errors = ask(search, "the painters " * 30, *asked, "--json", "--k", "5")
    assert code == 0
    found = [json.loads(line) for line in output.splitlines()]
    assert {row["id"] for row in found} == {"texts.txt:1", "texts.txt:2", "texts.txt:3"}
    assert errors.splitlines() == [
        "the query is longer than the model reads and was cut",
        "the index has 3 documents, fewer than --k 5",
    ]
    code, output, errors = ask(search, "painter", *asked, "--method", "bm25")
    assert (code, output.splitlines()[1]) == (0, "   the painter sees the river")
    assert output.startswith("1. texts.txt:1 (")
    assert ask(search, "zebra", *asked, "--method", "bm25", "--k", "1") == (
        0,
        "",
        "no document has a word of the query\n",
    )
    for arguments, message in (
        (("",), "the query is empty: give words"),
        (("a", "--method", "ivf"), "index has no ivf: it has fused, bm25, flat, hnsw; index again with it"),
        (("a", "--model", "data/models/sentiment"), "index was made with another model ("),
        (("a", "--index", "data"), "data is no index (manifest.json is missing): make it with `python -m"),
        (("a\udcff",), "the query is not UTF-8"),
    ):
        code, output, errors = ask(search, *asked, *arguments)
        assert (code, output) == (1, "")
        assert message in errors
        assert errors.count("\n") == 1


def test_a_language_without_stems_is_told(ask, folder):
    code, _, errors = ask(index, "texts.txt", "--out", "index", "--language", "km", "--model", MODEL)
    assert code == 0
    assert "language km has no stemmer: BM25 counts its words as they are written\n" in errors


def test_columns_are_named(ask, folder):
    code, _, errors = ask(index, "table.csv", "--out", "other", "--model", MODEL)
    assert (code, errors) == (1, "error: table.csv has no column text: it has title, body\n")
    assert not (folder / "other").exists()
    code, *_ = ask(index, "table.csv", "--out", "other", "--model", MODEL, "--column", "body")
    assert code == 0
    _, output, _ = ask(search, "gardens", "--index", "other", "--method", "bm25")
    assert output.startswith("1. Gardens (")


def test_what_is_not_installed_is_named(ask, monkeypatch):
    monkeypatch.setattr("maskline.inference.index.find_spec", lambda name: None if name == "faiss" else name)
    code, _, errors = ask(index, "texts.txt", "--model", MODEL)
    assert code == 1
    assert errors == "error: faiss is not installed: pip install -c constraints.txt -e '.[search]'\n"
