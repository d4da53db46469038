import json
import shutil

import numpy as np
import pytest

from maskline.core.errors import UserError
from maskline.core.storage import MANIFEST
from maskline.tokenization.encoding import ChunkEncoder
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.model_files import check_tokenizer, files_for_model
from maskline.tokenization.texts import encode_texts
from tests.tiny import write_tokenizer


@pytest.fixture(name="tokenizer")
def _tokenizer(tmp_path):
    return write_tokenizer(tmp_path / "tokenizer")


def write_model(directory, files):
    directory.mkdir()
    for name, content in files.items():
        (directory / name).write_bytes(content)
    return directory


def test_a_model_keeps_the_tokenizer_and_reads_no_more_than_it_has_positions(tokenizer):
    files, pad = files_for_model(tokenizer, 37)
    assert pad == 0
    assert set(files) == {"tokenizer.json", "tokenizer_config.json", "vocab.txt"}
    for name in ("tokenizer.json", "vocab.txt"):
        assert files[name] == (tokenizer / name).read_bytes()
    settings = json.loads((tokenizer / "tokenizer_config.json").read_text())
    assert json.loads(files["tokenizer_config.json"]) == settings | {"model_max_length": 37}


def test_a_tokenizer_that_reads_less_than_the_model_keeps_its_length(tokenizer):
    path = tokenizer / "tokenizer_config.json"
    former = path.read_bytes()
    path.write_text(json.dumps(json.loads(former) | {"model_max_length": 29}))
    with pytest.raises(UserError, match=r"tokenizer_config.json is not what tokenizer wrote"):
        files_for_model(tokenizer, 37)
    manifest = json.loads((tokenizer / MANIFEST).read_text())
    manifest["files"] = {}
    (tokenizer / MANIFEST).write_text(json.dumps(manifest))
    assert json.loads(files_for_model(tokenizer, 37)[0]["tokenizer_config.json"])["model_max_length"] == 29


def test_a_model_of_this_tokenizer_is_taken_whatever_else_is_in_the_directory(tokenizer, tmp_path):
    model = write_model(tmp_path / "model", files_for_model(tokenizer, 37)[0])
    check_tokenizer(model, tokenizer, "pretrain")
    check_tokenizer(model, shutil.copytree(tokenizer, tmp_path / "copy"), "pretrain")


def test_a_model_of_another_tokenizer_is_told(tokenizer, tmp_path):
    model = write_model(tmp_path / "model", files_for_model(tokenizer, 37)[0])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=r"model was made with another tokenizer than .*other: run `dvc repro pretrain"):
        check_tokenizer(model, tmp_path / "other", "pretrain")


def test_a_classifier_takes_special_tokens_in_a_text_for_text_in_transformers_too(tokenizer, tmp_path):
    from transformers import AutoTokenizer

    loaded = load_tokenizer(tokenizer)
    text = "w9 [SEP] w10 [MASK]"
    ours = encode_texts([text], loaded, 32).input_ids[0].tolist()
    assert ours[0] == loaded.special.cls
    assert ours[1:-1].count(loaded.special.sep) == ours.count(loaded.special.mask) == 0
    for fills_masks in (False, True):
        files, _ = files_for_model(tokenizer, 37, fills_masks=fills_masks)
        theirs = AutoTokenizer.from_pretrained(write_model(tmp_path / f"model-{fills_masks}", files))
        assert (theirs(text)["input_ids"] == ours) != fills_masks
        assert theirs("w9 w10")["input_ids"] == loaded.backend.encode("w9 w10").ids


def test_pretraining_and_tasks_read_one_text_alike(tokenizer):
    loaded = load_tokenizer(tokenizer)
    text = "w9 [SEP] w10 [MASK]"
    chunks, _ = ChunkEncoder(loaded.backend, np.dtype(np.uint16)).encode([text])
    assert encode_texts([text], loaded, 32).input_ids[0][1:-1].tolist() == chunks.tolist()
