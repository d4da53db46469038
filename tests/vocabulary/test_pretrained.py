"""Tokenizers of others, in directories as `transformers` writes them; the hub is never asked."""

import json
import subprocess
import sys

import huggingface_hub.constants
import numpy as np
import pytest
from tokenizers import Tokenizer, models

from maskline.core.errors import UserError
from maskline.core.storage import read_json, read_manifest, write_manifest
from maskline.tokenization.encoding import ChunkEncoder
from maskline.tokenization.load import load_tokenizer
from maskline.vocabulary.build import build
from maskline.vocabulary.pretrained import check_segmented
from maskline.vocabulary.save import save
from maskline.vocabulary.settings import PretrainedTokenizer
from tests.theirs import ODD, USUAL, write_theirs

LINES = ["play the games", "Plays! of [MASK] <mask> ك", "", "the playful 中文 of of"]


def take(params, name, **changes):
    chosen = PretrainedTokenizer(**({"name": str(name), "revision": None, "segmented": False} | changes))
    return build(list, params(kind="pretrained", pretrained=chosen), "en")


@pytest.mark.parametrize("tokens", [USUAL, ODD], ids=["usual", "odd"])
def test_ids_and_special_tokens_are_its_own(tokens, params, tmp_path):
    built = take(params, write_theirs(tmp_path / "theirs", tokens, do_lower_case=False))
    tokenizer = built.tokenizer
    assert list(tokenizer.special) == [12, 4, 11, 2, 13]
    assert tokenizer.vocab_size == 16
    assert tokenizer.mask_token == tokens["mask_token"]
    assert tokenizer.backend.encode("plays of", "the").ids == [11, 0, 1, 5, 2, 3, 2]
    assert len(tokenizer.backend.encode("the " * 20).ids) == 22  # neither cut nor padded by what its file asks for
    assert built.settings == tokens | {"model_max_length": 60, "do_lower_case": False}
    ids, lengths = ChunkEncoder(tokenizer.backend, np.dtype(np.uint8)).encode(["plays of", tokens["mask_token"]])
    assert ids[: lengths[0]].tolist() == [0, 1, 5]
    assert tokenizer.special.mask not in ids


SCRIPT = """
import json, sys
from transformers import AutoTokenizer
loaded = AutoTokenizer.from_pretrained(sys.argv[1])
lines = json.load(sys.stdin)
special = [getattr(loaded, f"{kind}_token_id") for kind in ("pad", "unk", "cls", "sep", "mask")]
print(json.dumps([loaded(lines)["input_ids"], special, loaded.model_max_length]))
"""


@pytest.mark.parametrize("tokens", [USUAL, ODD], ids=["usual", "odd"])
def test_transformers_reloads_it_with_the_same_ids_in_a_fresh_process(tokens, params, tmp_path):
    chosen = params(kind="pretrained")
    built = take(params, write_theirs(tmp_path / "theirs", tokens))
    save(built.tokenizer.backend, tmp_path / "ours", chosen, built.provenance, built.settings)
    ours = load_tokenizer(tmp_path / "ours")
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "ours")]
    done = subprocess.run(command, input=json.dumps(LINES), capture_output=True, text=True, check=True)
    ids = [encoding.ids for encoding in ours.backend.encode_batch(LINES)]
    assert json.loads(done.stdout.splitlines()[-1]) == [ids, list(ours.special), 60]
    assert ours.special == built.tokenizer.special
    manifest = read_manifest(tmp_path / "ours", "tokenizer")
    assert manifest["pretrained"] == {"name": str(tmp_path / "theirs"), "revision": None, "segmented": False}
    assert manifest["kind"] == "pretrained"
    assert read_json(tmp_path / "ours" / "tokenizer_config.json")["cls_token"] == tokens["cls_token"]


def test_a_vocabulary_may_leave_ids_out(params, tmp_path):
    theirs = write_theirs(tmp_path / "theirs")
    content = read_json(theirs / "tokenizer.json")
    content["model"]["vocab"]["last"] = 20
    (theirs / "tokenizer.json").write_text(json.dumps(content))
    tokenizer = take(params, theirs).tokenizer
    assert tokenizer.vocab_size == len(tokenizer.pieces) == 21
    assert tokenizer.pieces[20] == "last"
    assert len(set(tokenizer.pieces)) == 21


@pytest.mark.parametrize("where", ["extra", "never_split"])
def test_a_tokenizer_of_segments_is_not_given_plain_text(where, params, tmp_path):
    theirs = write_theirs(tmp_path / "arabertv2", **{where: ["ال+", "+ها"]})
    with pytest.raises(UserError, match=r"expects text segmented by Farasa \(its vocabulary has \+ها, ال\+\)"):
        take(params, theirs)
    assert take(params, theirs, segmented=True).provenance["pretrained"]["segmented"] is True


def test_text_that_is_said_to_be_segmented_holds_segments():
    check_segmented(["كتاب", "و+ ال+ كتاب +ها"])
    for texts in ([], ["وكتابها 1+ + C+ +", "a+b"]):
        with pytest.raises(UserError, match=r"segmented is true, but no word .* is a segment such as ال\+"):
            check_segmented(texts)


def test_a_name_on_the_hub_is_pinned(params):
    for revision in (None, "main"):
        with pytest.raises(UserError, match=f"revision {revision} pins nothing: give the 40 digits"):
            take(params, "aubmindlab/no-directory", revision=revision)


def test_code_that_comes_with_a_tokenizer_is_never_run(params, tmp_path, monkeypatch):
    theirs = write_theirs(tmp_path / "theirs", auto_map={"AutoTokenizer": ["own.Own", None]}, tokenizer_class="Own")
    (theirs / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: ...\n")
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(UserError, match=r"theirs comes with code of its own, which maskline never runs") as caught:
        take(params, theirs)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_what_cannot_be_read_is_one_line(params, tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)  # the variable is read at the first import
    (tmp_path / "empty").mkdir()
    for name in (tmp_path / "empty", "nobody/nothing"):
        with pytest.raises(UserError, match="cannot read the tokenizer") as caught:
            take(params, name, revision="0" * 40)
        assert "\n" not in str(caught.value)


def test_an_id_beyond_all_vocabularies_takes_no_memory(params, tmp_path):
    theirs = write_theirs(tmp_path / "theirs")
    content = read_json(theirs / "tokenizer.json")
    content["model"]["vocab"]["last"] = 4_000_000_000
    (theirs / "tokenizer.json").write_text(json.dumps(content))
    message = r"the tokenizer has the id 4,000,000,000, beyond the 4,194,304 that maskline reads: choose another"
    with pytest.raises(UserError, match=message):
        take(params, theirs)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer.json", "[" * 100_000),
        ("tokenizer.json", '{"a":' * 100_000),
        ("tokenizer.json", "[]"),
        ("tokenizer.json", '{"model": {"type": "WordPiece"}}'),
        ("tokenizer.json", "x" * 1_000_000),
        ("tokenizer_config.json", "[" * 100_000),
        ("tokenizer_config.json", "[]"),
        ("tokenizer_config.json", {"model_max_length": "long"}),
        ("tokenizer_config.json", {"model_max_length": float("inf")}),
        ("tokenizer_config.json", {"cls_token": 7}),
        ("tokenizer_config.json", {"never_split": [["ال+"]]}),
        ("tokenizer_config.json", {"never_split": 7}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_odd_file_is_one_line(params, tmp_path, name, content):
    theirs = write_theirs(tmp_path / "theirs")
    text = json.dumps(read_json(theirs / name) | content) if isinstance(content, dict) else content
    (theirs / name).write_text(text)
    with pytest.raises(UserError, match="cannot read the tokenizer") as caught:
        take(params, theirs)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("content", ["[" * 1_000, "{}", "[]"])
def test_a_directory_that_holds_no_tokenizer_is_one_line(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    write_manifest(tmp_path, {})
    with pytest.raises(UserError, match=r"holds no tokenizer \(.*run `dvc repro tokenizer`") as caught:
        load_tokenizer(tmp_path)
    assert "\n" not in str(caught.value)


def test_other_kinds_are_refused(params, tmp_path):
    theirs = write_theirs(tmp_path / "bpe")
    tokens = list(USUAL.values())
    tokenizer = Tokenizer(models.BPE({token: number for number, token in enumerate([*tokens, "a"])}, []))
    tokenizer.save(str(theirs / "tokenizer.json"))
    with pytest.raises(UserError, match="is a tokenizer of kind BPE"):
        take(params, theirs)
    theirs = write_theirs(tmp_path / "bare")
    content = read_json(theirs / "tokenizer.json") | {"post_processor": None}
    (theirs / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"lays out pairs as .*, not as BERT does"):
        take(params, theirs)
    theirs = write_theirs(tmp_path / "maskless")
    config = read_json(theirs / "tokenizer_config.json")
    del config["mask_token"]
    (theirs / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="has no mask_token"):
        take(params, theirs)
