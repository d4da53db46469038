"""Whole words: for text that spaces have cut already."""

import numpy as np
import pytest

from maskline.core.errors import UserError
from maskline.tokenization.encoding import ChunkEncoder
from maskline.tokenization.load import LoadedTokenizer
from maskline.tokenization.special import SPECIAL_TOKENS
from maskline.vocabulary.quality import measure
from maskline.vocabulary.word import train

TEXTS = ["The <unk> is 5 @.@ 3 km , the <unk>\nthe U.S. is far", "b a [MASK] b a"]


def learn(params, language="en", texts=TEXTS, **changes):
    return train(lambda: texts, params(**({"kind": "word", "min_frequency": 1} | changes)), language)


def words(tokenizer):
    vocabulary = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def test_words_are_numbered_by_frequency_then_by_code_point(params):
    learned = words(learn(params))
    assert learned[:5] == list(SPECIAL_TOKENS)
    assert learned[5:] == ["the", "a", "b", "is", ",", "3", "5", "@.@", "[mask]", "far", "km", "u.s."]
    assert words(learn(params, texts=TEXTS[::-1])) == learned


def test_rare_words_and_those_beyond_the_size_are_unknown(params):
    assert words(learn(params, min_frequency=2))[5:] == ["the", "a", "b", "is"]
    assert words(learn(params, vocab_size=16))[5:] == words(learn(params))[5:16]
    tokenizer = learn(params, min_frequency=2)
    assert tokenizer.encode("The far U.S. is").tokens == ["[CLS]", "the", "[UNK]", "[UNK]", "is", "[SEP]"]
    with pytest.raises(UserError, match=r"no word of the training split occurs tokenizer\.min_frequency 9 times"):
        learn(params, min_frequency=9)


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_word_that_the_corpus_left_out_is_unknown(lowercase, params):
    tokenizer = learn(params, lowercase=lowercase)
    assert "<unk>" not in tokenizer.get_vocab()
    assert tokenizer.encode("is <unk> ?", add_special_tokens=False).tokens == ["is", "[UNK]", "[UNK]"]
    assert measure(LoadedTokenizer(tokenizer), ["is <unk> far ,"])["unk_rate"] == 1 / 4


@pytest.mark.parametrize("lowercase", [True, False])
def test_special_tokens_in_a_text_are_text(lowercase, params):
    tokenizer = learn(params, lowercase=lowercase, texts=["a b a"])
    ids, _ = ChunkEncoder(tokenizer, np.dtype(np.uint16)).encode(["a [MASK] [PAD] [CLS] b"])
    assert ids.tolist() == [5, 1, 1, 1, 6]
    assert tokenizer.encode("a [MASK]").ids == [2, 5, 4, 3]


def test_no_word_continues_another(params):
    tokenizer = LoadedTokenizer(learn(params, texts=["##a ##a b"]))
    assert tokenizer.continued("##a") is None


def test_the_language_has_its_policy(params):
    assert words(learn(params, "fa", ["می\u200cرود"]))[5:] == ["می\u200cرود"]
    assert words(learn(params, "ar", ["ﷲ ﷲ"]))[5:] == ["الله"]
