"""Which sentences are taught, what the teacher says of them, and what is kept."""

import json

import numpy as np
import pytest
import torch

from maskline.core.errors import UserError
from maskline.core.storage import read_manifest, write_bytes
from maskline.distillation import teacher as module
from maskline.distillation.teacher import read_sentences, reduction, teacher_vectors, write_sentences
from maskline.inference.embedding import embed
from maskline.inference.vectors import open_encoder
from maskline.model.directory import load_encoder
from tests.distillation.conftest import write_corpus
from tests.training.runs import CPU


def test_sentences_of_both_splits_are_written_once_and_files_are_added_to_train(mine, tmp_path):
    files = [tmp_path / "a.txt", tmp_path / "b.jsonl"]
    files[0].write_text("w5 w6 w7\n\nw8 w8\nw5 w6 w7\n")
    files[1].write_text(json.dumps({"text": "w9. w10"}) + "\n")
    plain = write_sentences(mine / "corpus", [], "en", tmp_path / "plain")
    more = write_sentences(mine / "corpus", files, "en", tmp_path / "more")
    train, validation = (read_sentences(tmp_path / "plain", split) for split in ("train", "validation"))
    assert plain["sentences"] == {"train": len(train), "validation": len(validation)}
    assert len(train) > len(validation) > 5
    assert not set(train) & set(validation)
    assert read_sentences(tmp_path / "more", "train") == [*train, "w5 w6 w7", "w8 w8", "w9. w10"]
    assert read_sentences(tmp_path / "more", "validation") == validation
    assert more["sentences"]["train"] == len(train) + 3


def test_what_is_there_of_the_same_inputs_stays(mine, tmp_path, monkeypatch):
    text = tmp_path / "a.txt"
    text.write_text("w5 w6\n")

    def write():
        return write_sentences(mine / "corpus", [text], "en", tmp_path / "out")

    write()
    path = tmp_path / "out" / "train.jsonl"
    written = path.stat().st_mtime_ns
    write()
    assert path.stat().st_mtime_ns == written
    text.write_text("w5 w7\n")
    write()
    assert read_sentences(tmp_path / "out", "train")[-1] == "w5 w7"
    write_bytes(path, b"")  # a file that something else changed is none of ours
    write()
    assert read_sentences(tmp_path / "out", "train")[-1] == "w5 w7"
    write_corpus(mine / "corpus", 30)
    write()
    assert read_manifest(tmp_path / "out", "distill")["sentences"]["train"] < 70


def test_vectors_are_those_of_the_teacher_and_computed_once(mine, tmp_path, monkeypatch):
    write_sentences(mine / "corpus", [], "en", tmp_path / "sentences")
    teacher, told = open_encoder(mine / "teacher", CPU), []

    def vectors():
        return teacher_vectors(teacher, tmp_path / "sentences" / "train.jsonl", tmp_path / "v", lambda _: told.append)

    found = vectors()
    sentences = read_sentences(tmp_path / "sentences", "train")
    expected = embed(load_encoder(mine / "teacher"), teacher.tokenizer, sentences, CPU).vectors
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert found.shape == (len(sentences), 24)
    assert np.abs(found - expected).max() < 1e-3
    assert told[-1] == len(sentences)
    told.clear()
    assert vectors().tobytes() == found.tobytes()
    assert not told
    other = open_encoder(mine / "start", CPU)
    teacher_vectors(other, tmp_path / "sentences" / "train.jsonl", tmp_path / "v", lambda _: told.append)
    assert told[-1] == len(sentences)


def test_as_few_numbers_keep_the_products_as_well_as_any_can(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 7)
    draw = np.random.default_rng(0)
    vectors = (draw.normal(size=(50, 3)) @ draw.normal(size=(3, 6))).astype(np.float16)
    exact = vectors.astype(np.float64)
    kept = vectors.astype(np.float32) @ reduction(vectors, 3)
    assert kept @ kept.T == pytest.approx(exact @ exact.T, abs=0.05)  # three directions are all that there are
    two = vectors.astype(np.float32) @ reduction(vectors, 2)
    values = np.linalg.eigvalsh(exact.T @ exact)[::-1]
    assert (two**2).sum() == pytest.approx(values[:2].sum(), rel=1e-3)
    wide = vectors.astype(np.float32) @ reduction(vectors, 9)
    assert wide.shape == (50, 9)
    assert wide @ wide.T == pytest.approx(exact @ exact.T, abs=0.05)
    assert not wide[:, 6:].any()


def test_a_missing_file_and_a_corpus_of_one_article_are_told_in_one_line(mine, tmp_path):
    with pytest.raises(UserError, match=r"none\.txt is missing: correct its name"):
        write_sentences(mine / "corpus", [tmp_path / "none.txt"], "en", tmp_path / "out")
    write_corpus(mine / "corpus", 1)
    with pytest.raises(
        UserError, match=r"the (train|validation) split of .*corpus has 0 sentences, fewer than 3: add art"
    ):
        write_sentences(mine / "corpus", [], "en", tmp_path / "out")
    assert torch.is_grad_enabled()
