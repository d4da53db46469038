import re

import numpy as np
import pytest
import torch

from maskline.evaluation import samples
from maskline.evaluation.samples import _excerpt, _quote, _table, sample_page
from maskline.examples.premasked import read_premasked
from maskline.model.directory import load_pretraining_model
from maskline.tokenization.load import LoadedTokenizer, load_tokenizer
from maskline.tokenization.special import SPECIAL_TOKENS
from maskline.vocabulary.normalization import normalizer
from maskline.vocabulary.wordpiece import from_vocabulary
from tests.tiny import tokenizer_params


@pytest.fixture(name="page")
def _page(tiny_project):
    data = tiny_project / "data"
    model = load_pretraining_model(data / "models" / "pretrained")
    validation, tokenizer = read_premasked(data / "validation"), load_tokenizer(data / "tokenizer")
    return lambda count: sample_page(model, validation, tokenizer, torch.device("cpu"), count)


@pytest.fixture(name="tokenizer")
def _tokenizer(tiny_project):
    return load_tokenizer(tiny_project / "data" / "tokenizer")


def test_every_sample_has_one_mask_and_one_truth(page):
    parts = page(3).split("\n## ")
    assert len(parts) == 4
    for part in parts[1:]:
        quote = next(line for line in part.splitlines() if line.startswith("> "))
        assert quote.count("`[MASK]`") == 1
        rows = [line for line in part.splitlines() if re.match(r"\| \d", line)]
        assert [row.split(" | ")[0] for row in rows[:5]] == [f"| {rank}" for rank in range(1, 6)]
        assert len(rows) in {5, 6}
        assert sum("**" in row for row in rows) == 1


def test_the_page_is_the_same_each_time(page):
    assert page(3) == page(3)


def test_no_more_samples_than_examples_and_none_if_none_are_wanted(page, tiny_project):
    examples = read_premasked(tiny_project / "data" / "validation")
    assert page(1000).count("\n## ") == len(examples)
    assert page(0).count("\n## ") == 0


def test_samples_come_from_all_over_the_set(page, monkeypatch, tiny_project):
    seen = []
    original = type(read_premasked(tiny_project / "data" / "validation")).original
    monkeypatch.setattr(
        "maskline.examples.premasked.PremaskedSet.original", lambda self, row: seen.append(row) or original(self, row)
    )
    page(4)
    size = len(read_premasked(tiny_project / "data" / "validation"))
    assert seen == [0, size // 4, size // 2, 3 * size // 4]


def test_the_truth_is_bold_where_it_stands(tokenizer):
    probabilities = np.full(tokenizer.vocab_size, 1e-5, np.float32)
    probabilities[10:16] = [0.4, 0.2, 0.1, 0.05, 0.02, 0.01]
    among = _table(probabilities, 11, tokenizer).splitlines()
    assert len(among) == 7
    assert among[3] == f"| 2 | **{tokenizer.pieces[11]}** | 0.200 |"
    below = _table(probabilities, 0, tokenizer).splitlines()
    assert len(below) == 8
    assert below[7] == r"| 7 | **\[PAD\]** | 1.0e-05 |"


def test_an_excerpt_stays_in_its_segment_and_keeps_words_whole(monkeypatch):
    pieces = [*SPECIAL_TOKENS, "play", "##ing", "the", "of"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = LoadedTokenizer(from_vocabulary(vocabulary, normalizer(tokenizer_params(), "en")))

    def excerpt(*tokens):
        return _excerpt(np.array([pieces.index(token) for token in tokens]), tokens.index("[MASK]"), tokenizer)

    words = ("play", "##ing", "[MASK]", "play", "##ing", "of", "[SEP]", "the", "[SEP]")
    assert excerpt("[CLS]", *words) == "playing [MASK] playing of"
    assert excerpt("[CLS]", "the", "[SEP]", *words[:6], "[SEP]") == "playing [MASK] playing of"
    assert excerpt("[CLS]", *words[1:]) == "…ing [MASK] playing of"
    monkeypatch.setattr(samples, "CONTEXT", 1)
    assert excerpt("[CLS]", "the", *words) == "… playing [MASK] playing …"


def test_markdown_shows_the_text_as_it_is():
    assert _quote("1. a | <b> *c* [MASK] `d` $e$") == r"<bdi>1. a \| \<b> \*c\* `[MASK]` \`d\` \$e\$</bdi>"
    assert _quote("ذهب [MASK] إلى مكة") == "<bdi>ذهب `[MASK]` إلى مكة</bdi>"
