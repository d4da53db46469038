import json
import random
import subprocess
import sys
from itertools import product

import pytest

from maskline.core.errors import UserError
from maskline.core.storage import read_json, read_manifest
from maskline.tokenization.load import load_tokenizer
from maskline.tokenization.special import SPECIAL_TOKENS
from maskline.vocabulary.save import save
from maskline.vocabulary.wordpiece import train

LINES = [
    "آمن المؤمن بأن القاهرة سئلت، ثم «ذهب» إلى مكة؟ ١٢٣ كتاب🙂",
    "The U.S. naïve café, it's 3.5 km (about) well-known words; U\u0308ber x^2 😀 [MASK]ed",
    "Die schöne Straße in Köln: groß & Übergröße, Ärzte-Haus!",
    "维基百科 是一个 自由内容、公开编辑 且多语言 的网络百科全书。",
]


def mixed_lines():
    """Return 500 lines of four languages, among them words that the vocabulary has never seen."""
    draw = random.Random(0)
    words = " ".join(LINES).split()
    lines = [" ".join(draw.choices(words, k=draw.randint(1, 12))) for _ in range(480)]
    lines += ["", " ", "\u200f", "a" * 101, "unseen ქართული words", "tab\tand\nnewline", "a\x00b\ufffdc\u00ad", "ﷲ ﻻ"]
    lines += ["one\u200btwo\x0bthree\x0cfour\x85five\x1fsix", "می\u200cرود क्\u200dष Auf\u200clage", "ΟΔΟΣ", "٣१２"]
    lines += ["维基百科" * 60, "เมืองไทย" * 40, "ទីក្រុង\u200bភ្នំពេញ" * 20]
    return lines + [line.upper() for line in lines[: 500 - len(lines)]]


SCRIPT = """
import json, sys
from transformers import AutoTokenizer
lines = json.load(sys.stdin)
loaded = {}
for directory in sys.argv[1:]:
    tokenizer = AutoTokenizer.from_pretrained(directory)
    pairs = tokenizer(lines, lines[::-1])
    special = [getattr(tokenizer, f"{kind}_token_id") for kind in ("pad", "unk", "cls", "sep", "mask")]
    loaded[directory] = [tokenizer(lines)["input_ids"], pairs["input_ids"], pairs["token_type_ids"], special]
print(json.dumps(loaded))
"""


def test_transformers_gives_the_same_ids_in_a_fresh_process(params, tmp_path):
    directories = []
    for lowercase, strip_accents, beside_a_model in product([False, True], repeat=3):
        chosen = params(lowercase=lowercase, strip_accents=strip_accents, vocab_size=400)
        directories.append(tmp_path / f"{lowercase}-{strip_accents}-{beside_a_model}")
        save(train(lambda: LINES * 3, chosen, "en"), directories[-1], chosen, {"corpus": "0" * 64})
        if beside_a_model:
            (directories[-1] / "config.json").write_text('{"model_type": "bert"}')
    lines = mixed_lines()
    assert len(lines) == 500
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, directories)],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = json.loads(done.stdout.splitlines()[-1])
    for directory in directories:
        ours = load_tokenizer(directory)
        pairs = ours.backend.encode_batch(list(zip(lines, lines[::-1], strict=True)))
        assert loaded[str(directory)] == [
            [encoding.ids for encoding in ours.backend.encode_batch(lines)],
            [encoding.ids for encoding in pairs],
            [encoding.type_ids for encoding in pairs],
            list(ours.special),
        ]
        assert list(ours.special) == [0, 1, 2, 3, 4]


def test_the_settings_are_saved(params, tmp_path):
    chosen = params(lowercase=False, strip_accents=True)
    save(train(lambda: ["some text some text"], chosen, "en"), tmp_path, chosen, {"corpus": "0" * 64})
    config = read_json(tmp_path / "tokenizer_config.json")
    expected = {"do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": True}
    assert expected.items() <= config.items()
    assert {config[f"{kind}_token"] for kind in ("pad", "unk", "cls", "sep", "mask")} == set(SPECIAL_TOKENS)
    assert config["model_max_length"] > 10**9
    vocabulary = (tmp_path / "vocab.txt").read_text(encoding="utf-8").splitlines()
    assert {piece: number for number, piece in enumerate(vocabulary)} == load_tokenizer(tmp_path).backend.get_vocab()
    assert read_manifest(tmp_path, "tokenizer")["vocab_size"] == len(vocabulary)


def test_a_truncated_tokenizer_is_one_clear_line(params, tmp_path):
    save(train(lambda: ["some text some text"], params(), "en"), tmp_path, params(), {})
    path = tmp_path / "tokenizer.json"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(UserError, match=r"tokenizer.json is not what tokenizer wrote.*dvc repro tokenizer"):
        load_tokenizer(tmp_path)


def test_loading_needs_no_transformers(params, tmp_path):
    save(train(lambda: ["some text some text"], params(), "en"), tmp_path, params(), {})
    script = "import sys; from pathlib import Path; from maskline.tokenization.load import load_tokenizer\n"
    script += "load_tokenizer(Path(sys.argv[1])); sys.exit('transformers' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False).returncode == 0
