import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.tokenization import encoding
from maskline.tokenization.encoding import ChunkEncoder
from maskline.vocabulary.wordpiece import train
from tests.tiny import tokenizer_params

ARABIC = Path("../shared/data/arwiki/articles-000.jsonl.gz")
TEXT = "The naïve café (3.5 km) کتاب‌ها آمن ذهب، «قال» 中文百科 x^2 don't U.S.A. Über 😀 end."


def learn(texts, language="en", **changes):
    return train(lambda: texts, tokenizer_params(**({"vocab_size": 500, "min_frequency": 1} | changes)), language)


TOKENIZERS = [learn([TEXT]), learn([TEXT], strip_accents=True), learn([TEXT], lowercase=False)]


def expected(tokenizer, texts):
    tokenizer.encode_special_tokens = True
    ids = [encoded.ids for encoded in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    tokenizer.encode_special_tokens = False
    return ids


def chunked(encoder, texts):
    ids, lengths = encoder.encode(texts)
    assert lengths.dtype == np.int32
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths))[:-1]]


# What might reach across a space: marks, joiners, controls, other spaces, and what normalizing moves or adds.
ODD = st.sampled_from(
    [*" \t\n\r\x00\x1c\x1f\x85\u00a0\u2028\u3000\u200c\u200d\u200e\ufeff\u0301\u0308\u0338\u0653İςΣﬁ한각中。.,[]#'"]
)


@settings(deadline=None, max_examples=300)
@given(
    texts=st.lists(st.lists(ODD | st.sampled_from([*TEXT.split(), "[SEP]", "[MASK]", "##e"])).map("".join), max_size=4)
)
@pytest.mark.parametrize("number", range(len(TOKENIZERS)))
def test_ids_are_those_of_the_tokenizer(number, texts):
    tokenizer = TOKENIZERS[number]
    assert chunked(ChunkEncoder(tokenizer, np.dtype(np.uint16)), texts) == expected(tokenizer, texts)


def test_special_tokens_in_a_text_are_text():
    (ids,) = chunked(ChunkEncoder(TOKENIZERS[0], np.dtype(np.uint16)), ["[SEP] the[MASK] [PAD]"])
    assert not set(ids) & {0, 2, 3, 4}
    assert TOKENIZERS[0].encode("[SEP]", add_special_tokens=False).ids == [3]  # the given tokenizer stays as it is


def test_a_full_cache_changes_no_id(monkeypatch):
    monkeypatch.setattr(encoding, "CACHED_CHUNKS", 5)
    encoder = ChunkEncoder(TOKENIZERS[0], np.dtype(np.uint16))
    for texts in [["the café"], [TEXT, TEXT[::-1]], ["the end. of the café", ""], []]:
        assert chunked(encoder, texts) == expected(TOKENIZERS[0], texts)
    assert len(encoder._cache) <= 5


@pytest.mark.skipif(
    not ARABIC.exists(), reason=f"{ARABIC} is absent: the real Arabic articles are not part of this project"
)
def test_ids_of_real_articles_are_those_of_the_tokenizer():
    with gzip.open(ARABIC, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line, _ in zip(lines, range(300), strict=False)]
    tokenizer = learn(texts, vocab_size=8000)
    assert chunked(ChunkEncoder(tokenizer, np.dtype(np.uint16)), texts) == expected(tokenizer, texts)
