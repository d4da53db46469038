import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from maskline.core.storage import MANIFEST, read_json, read_manifest, sha256
from maskline.corpus.articles import Article, Source, read_articles
from maskline.selection.corpus import write_corpus
from maskline.settings.files import read_yaml
from maskline.tokenization.load import load_tokenizer
from tests.theirs import write_theirs


@pytest.fixture(name="corpus")
def _corpus(tmp_path):
    articles = [Article(str(i), "", "", f"Page {i} tells of the number {i}.\nIt is short.") for i in range(80)]
    write_corpus(tmp_path / "corpus", Source(articles, {"source": "test"}, "none"), 10, 0.2)
    return tmp_path / "corpus"


def run(corpus, out="out", seed="0", **tokenizer):
    settings = read_yaml(Path("params.yaml"))
    settings["tasks"] = {}
    settings["tokenizer"] |= {"vocab_size": 200} | tokenizer
    YAML().dump(settings, corpus.parent / "params.yaml")
    command = [sys.executable, "-m", "pipeline.tokenizer", "--params", str(corpus.parent / "params.yaml")]
    command += ["--corpus", str(corpus), "--tokenizer", str(corpus.parent / out / "tokenizer")]
    command += ["--report", str(corpus.parent / out / "report")]
    environment = os.environ | {"PYTHONPATH": "src", "PYTHONHASHSEED": seed}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def files(directory):
    return {path.relative_to(directory).as_posix(): sha256(path) for path in directory.rglob("*") if path.is_file()}


def test_the_tokenizer_and_its_figures_are_the_same_bytes_in_every_process(corpus, tmp_path):
    done = run(corpus)
    assert done.returncode == 0, done.stderr
    assert "tokens per word" in done.stdout
    tokenizer = load_tokenizer(tmp_path / "out" / "tokenizer")
    metrics = read_json(tmp_path / "out" / "report" / "metrics.json")
    assert metrics["vocab_size"] == tokenizer.vocab_size <= 200
    assert metrics["words"] == read_manifest(corpus, "fetch")["splits"]["validation"]["words"]
    assert metrics["unk_rate"] == 0
    manifest = read_manifest(tmp_path / "out" / "tokenizer", "tokenizer")
    assert manifest["corpus"] == sha256(corpus / MANIFEST)
    assert set(manifest["files"]) == {"tokenizer.json", "tokenizer_config.json", "vocab.txt"}
    run(corpus, "again", seed="7")
    assert files(tmp_path / "out") == files(tmp_path / "again")


def test_the_vocabulary_sees_the_train_split_alone(tmp_path):
    marks = [chr(0x4E00 + number) for number in range(80)]
    articles = [Article(str(i), "", "", f"{mark} is the mark of a page") for i, mark in enumerate(marks)]
    write_corpus(tmp_path / "corpus", Source(articles, {}, "none"), 10, 0.2)
    done = run(tmp_path / "corpus", max_unk_rate=1)
    assert done.returncode == 0, done.stderr
    known = load_tokenizer(tmp_path / "out" / "tokenizer").backend.get_vocab().keys()
    for split, expected in (("train", True), ("validation", False)):
        assert {article.text[0] in known for article in read_articles(tmp_path / "corpus", split)} == {expected}

    done = run(tmp_path / "corpus", "strict")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "error: 14.29% of the 147 validation tokens are [UNK], and 5.88% of the characters, "
        "above tokenizer.max_unk_rate 1.00%"
    )
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "strict" / "tokenizer").exists()


def test_a_vocabulary_that_spells_words_out_fails_the_stage_and_leaves_the_figures(tmp_path):
    words = [f"{a}{b}{c}{d}" for a in "bdgk" for b in "aeiou" for c in "lmnr" for d in "aeiou"]
    articles = [Article(str(i), "", "", " ".join(words[i::80] + words[7 * i % 300 :][:5])) for i in range(80)]
    write_corpus(tmp_path / "corpus", Source(articles, {}, "none"), 10, 0.2)
    done = run(tmp_path / "corpus", min_frequency=1000)
    assert done.returncode == 1
    assert done.stderr == (
        "error: the validation split has 4.00 tokens per word, above tokenizer.max_fertility 3: raise "
        "tokenizer.vocab_size or add articles, or else accept it by raising tokenizer.max_fertility\n"
    )
    assert read_json(tmp_path / "out" / "report" / "metrics.json")["tokens_per_word"] == 4
    assert not (tmp_path / "out" / "tokenizer").exists()
    assert run(tmp_path / "corpus", min_frequency=1000, max_fertility=None).returncode == 0


def test_segments_that_a_tokenizer_expects_are_asked_for(corpus, tmp_path):
    theirs = {"name": str(write_theirs(tmp_path / "arabertv2", extra=["ال+", "+ها"])), "revision": None}
    for segmented, message in (
        (False, f"error: {theirs['name']} expects text segmented by Farasa (its vocabulary has +ها, ال+)"),
        (True, "error: tokenizer.pretrained.segmented is true, but no word of the validation split is a segment"),
    ):
        done = run(corpus, kind="pretrained", pretrained={**theirs, "segmented": segmented})
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert done.stderr.startswith(message)
        assert not (tmp_path / "out" / "tokenizer").exists()


def test_an_incomplete_corpus_is_one_line(corpus):
    (corpus / MANIFEST).unlink()
    done = run(corpus)
    assert (done.returncode, done.stderr) == (
        1,
        f"error: {corpus} is incomplete (no {MANIFEST}): run `dvc repro fetch`\n",
    )
