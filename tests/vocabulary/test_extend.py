"""Words of a domain become pieces of a tokenizer that exists."""

import json
from collections import Counter

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from maskline.core.errors import UserError
from maskline.core.storage import read_json, read_manifest, sha256
from maskline.corpus.articles import Article, Source
from maskline.selection.corpus import write_corpus
from maskline.tokenization.extension import old_pieces
from maskline.tokenization.load import LoadedTokenizer, load_tokenizer
from maskline.vocabulary.extend import extended, tokens_saved, word_counts
from maskline.vocabulary.learn import learn
from maskline.vocabulary.settings import ExtendParams, PretrainedTokenizer
from tests.theirs import USUAL, write_theirs
from tests.tiny import tokenizer_params

TEXTS = ["plays plays, games the", "the plays P! playful\nplays xx xx", "xx playful"]
"""Its pieces of the words: play ##s (4 times), play ##ful (2), [UNK] for xx (3); the, games, P and ! are whole."""
SPECIAL = list(USUAL.values())


@pytest.fixture(name="theirs")
def _theirs(tmp_path):
    return write_theirs(tmp_path / "theirs")


@pytest.fixture(name="backend")
def _backend(theirs):
    return Tokenizer.from_file(str(theirs / "tokenizer.json"))


def add(backend, pieces=9, min_frequency=1, texts=TEXTS):
    return extended(backend, texts, ExtendParams(pieces=pieces, min_frequency=min_frequency))


def test_words_are_counted_as_the_tokenizer_splits_them(backend):
    expected = {"plays": 4, ",": 1, "games": 1, "the": 2, "P": 1, "!": 1, "playful": 2, "xx": 3}
    assert word_counts(backend, TEXTS) == expected
    assert tokens_saved(backend, Counter(expected), 1) == {"plays": 4, "playful": 2, "xx": 3, ",": 1}


@pytest.mark.parametrize(
    ("pieces", "min_frequency", "expected"),
    [(9, 1, ["plays", "xx", "playful", ","]), (2, 1, ["plays", "xx"]), (9, 3, ["plays", "xx"])],
)
def test_those_that_save_most_tokens_are_added_behind_all_others(backend, pieces, min_frequency, expected):
    longer, words = add(backend, pieces, min_frequency)
    assert words == expected
    assert {word: longer.token_to_id(word) for word in words} == {word: 16 + at for at, word in enumerate(words)}
    assert {piece: number for piece, number in longer.get_vocab().items() if number < 16} == backend.get_vocab()
    assert longer.encode("plays the", add_special_tokens=False).ids == [16, 3]
    assert backend.encode("plays the", add_special_tokens=False).ids == [0, 1, 3]


def test_equal_ones_come_by_code_points(backend):
    assert add(backend, texts=["zz yy xx", "zz yy xx"])[1] == ["xx", "yy", "zz"]


def test_what_no_word_could_match_is_not_added(backend):
    content = json.loads(backend.to_str())
    content["model"]["max_input_chars_per_word"] = 4
    content["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    short = Tokenizer.from_str(json.dumps(content))
    assert add(short, texts=["plays ##s xxxx [MASK] ##x"])[1] == ["xxxx"]


def test_where_there_is_nothing_to_add_that_is_told(backend):
    for texts in ([], ["the games"], ["plays"]):
        with pytest.raises(UserError, match=r"no word .* is seen 2 times: lower tokenizer.extend.min_frequency, add"):
            add(backend, min_frequency=2, texts=texts)
    words = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(UserError, match="adds words to a WordPiece tokenizer, and this one is WordLevel"):
        add(words)


def test_only_a_tokenizer_that_exists_is_extended():
    with pytest.raises(ValueError, match=r"extend.pieces 3 adds to a tokenizer that exists, and kind is wordpiece"):
        tokenizer_params(extend={"pieces": 3, "min_frequency": 1})


def test_old_pieces_are_those_of_the_text_of_a_new_one(backend):
    old, new = LoadedTokenizer(backend, SPECIAL), LoadedTokenizer(add(backend)[0], SPECIAL)
    assert old_pieces(old, new) == [[0, 1], [4], [0, 7], [4]]
    assert old_pieces(old, old) == []
    assert old_pieces(new, old) is None


@pytest.mark.parametrize("change", ["id", "normalizer", "special"])
def test_another_tokenizer_is_no_extension(backend, change):
    content = json.loads(add(backend)[0].to_str())
    vocabulary, special = content["model"]["vocab"], SPECIAL
    if change == "id":
        vocabulary["play"], vocabulary["the"] = vocabulary["the"], vocabulary["play"]
    elif change == "normalizer":
        content["normalizer"]["lowercase"] = True
    else:
        special = [SPECIAL[1], SPECIAL[0], *SPECIAL[2:]]
    other = LoadedTokenizer(Tokenizer.from_str(json.dumps(content)), special)
    assert old_pieces(LoadedTokenizer(backend, SPECIAL), other) is None


def test_the_characters_of_a_token_are_those_of_its_text(backend):
    characters = LoadedTokenizer(backend, SPECIAL).characters()
    assert {piece: characters[backend.token_to_id(piece)] for piece in ("play", "##s", "##ful", "!", "中")} == {
        "play": 4, "##s": 1, "##ful": 3, "!": 1, "中": 1
    }  # fmt: skip


@pytest.fixture(name="corpus")
def _corpus(tmp_path):
    articles = [Article(str(i), "", "", f"the plays of play {'games ' * i} playful plays") for i in range(40)]
    write_corpus(tmp_path / "corpus", Source(articles, {"source": "test"}, "none"), 10, 0.2)
    return tmp_path / "corpus"


def learned(corpus, theirs, out, pieces, init_from=None):
    chosen = PretrainedTokenizer(name=str(theirs), revision=None, segmented=False)
    extend = {"pieces": pieces, "min_frequency": 2}
    params = tokenizer_params(kind="pretrained", pretrained=chosen.model_dump(), extend=extend)
    return learn(params, "en", corpus, out / "tokenizer", out / "report", init_from)


def test_the_stage_tells_fertility_with_and_without_them(corpus, theirs, tmp_path):
    plain = learned(corpus, theirs, tmp_path / "plain", 0)
    assert "before" not in plain
    assert not (tmp_path / "plain" / "tokenizer" / "config.json").exists()
    metrics = learned(corpus, theirs, tmp_path / "out", 5)
    assert metrics["before"] == plain
    assert (metrics["added"], metrics["vocab_size"], metrics["train_share"]) == (2, 18, 1.0)
    articles = metrics["words"] - metrics["tokens"]
    assert articles == 0  # every word is one piece now
    assert metrics["tokens_per_word"] == 1 < plain["tokens_per_word"]
    assert read_json(tmp_path / "out" / "report" / "metrics.json") == metrics
    manifest = read_manifest(tmp_path / "out" / "tokenizer", "tokenizer")
    assert manifest["extended"] == {"pieces": 5, "min_frequency": 2, "added": 2}
    assert load_tokenizer(tmp_path / "out" / "tokenizer").pieces[16:] == ["plays", "playful"]
    learned(corpus, theirs, tmp_path / "again", 5)
    for name in manifest["files"]:
        assert sha256(tmp_path / "out" / "tokenizer" / name) == sha256(tmp_path / "again" / "tokenizer" / name)


def test_the_shape_of_the_model_to_go_on_from_lies_beside_it(corpus, theirs, tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(UserError, match=r"model/config.json is missing: pretrain.init_from names the directory"):
        learned(corpus, theirs, tmp_path / "out", 5, tmp_path / "model")
    (tmp_path / "model" / "config.json").write_text('{"hidden_size": 12, "vocab_size": 16}')
    learned(corpus, theirs, tmp_path / "out", 5, tmp_path / "model")
    assert read_json(tmp_path / "out" / "tokenizer" / "config.json") == {"hidden_size": 12, "vocab_size": 18}
    (tmp_path / "model" / "config.json").write_text("[]")
    with pytest.raises(UserError, match="is no config of a model"):
        learned(corpus, theirs, tmp_path / "out", 5, tmp_path / "model")
