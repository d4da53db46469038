import os
import subprocess
import sys

import pytest

from maskline.core.storage import MANIFEST, read_json, sha256
from maskline.examples.premasked import read_premasked
from tests.tiny import random_documents, write_settings, write_shards, write_tokenizer


@pytest.fixture(name="data")
def _data(tmp_path):
    write_settings(tmp_path)
    tokenizer = write_tokenizer(tmp_path / "tokenizer")
    write_shards(tmp_path / "tokens", random_documents(60), tokenizer=tokenizer)
    return tmp_path


def run(data, out="out", seed="0"):
    command = [sys.executable, "-m", "pipeline.premask", "--params", str(data / "params.yaml")]
    command += ["--tokens", str(data / "tokens"), "--tokenizer", str(data / "tokenizer"), "--out", str(data / out)]
    environment = os.environ | {"PYTHONPATH": "src", "PYTHONHASHSEED": seed}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_set_has_the_same_bytes_in_every_process(data):
    done = run(data)
    assert done.returncode == 0, done.stderr
    manifest = read_json(data / "out" / MANIFEST)
    assert len(read_premasked(data / "out")) == manifest["examples"]
    assert manifest["is_next"] == pytest.approx(manifest["random"], abs=10)
    assert f"{manifest['examples']:,} examples, {manifest['masked']:,} masked tokens" in done.stdout
    assert f"{manifest['no_pair']:,} without" in done.stdout
    hashes = {path.name: sha256(path) for path in (data / "out").iterdir()}
    assert run(data, "again", seed="7").returncode == 0
    assert {path.name: sha256(path) for path in (data / "again").iterdir()} == hashes
    assert str(data) not in (data / "out" / MANIFEST).read_text()


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda data: (data / "tokens" / MANIFEST).unlink(), "tokens is incomplete (no manifest.json)"),
        (lambda data: write_shards(data / "tokens", []), "tokens holds no tokens: add articles"),
        (lambda data: write_shards(data / "tokens", random_documents(9)), "was made with another tokenizer than"),
        (lambda data: (data / "tokenizer" / "tokenizer.json").write_text("{}"), "is not what tokenizer wrote"),
    ],
)
def test_a_bad_input_is_one_line(data, spoil, expected):
    spoil(data)
    done = run(data)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert expected in done.stderr
    assert not (data / "out").exists()
