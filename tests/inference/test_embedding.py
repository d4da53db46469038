from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.examples.batches import by_length
from maskline.inference.embedding import embed
from maskline.model.directory import load_pretraining_model
from maskline.tokenization.load import load_tokenizer
from tests.conftest import tiny_articles

CPU = torch.device("cpu")
SENTENCES = [sentence + "." for article in tiny_articles(40) for sentence in article.text.split(".") if sentence]
LONG = " ".join(SENTENCES[:9])
TEXTS = [*SENTENCES[:70], "", LONG, "Ω", SENTENCES[0] + " " + SENTENCES[1], "a"]


@pytest.fixture(name="model", scope="module")
def _model(tiny_project):
    directory = tiny_project / "data" / "models" / "pretrained"
    return directory, load_pretraining_model(directory).encoder, load_tokenizer(directory)


def plain(directory, texts, pooling, batch=32):
    """Return the vectors as one would compute them with transformers alone."""
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(directory).eval(), AutoTokenizer.from_pretrained(directory)
    vectors = []
    with torch.no_grad():
        for at in range(0, len(texts), batch):
            inputs = tokenizer(texts[at : at + batch], padding=True, truncation=True, return_tensors="pt")
            x = model(**inputs).last_hidden_state
            real = inputs["attention_mask"][:, :, None]
            vectors.append(x[:, 0] if pooling == "cls" else (x * real).sum(1) / real.sum(1))
    return torch.cat(vectors).numpy()


@pytest.mark.parametrize("pooling", ["cls", "mean"])
@pytest.mark.parametrize("batch_tokens", [1, 70, 4096])
def test_vectors_equal_those_of_transformers_in_the_order_of_the_texts(model, pooling, batch_tokens):
    directory, encoder, tokenizer = model
    found = embed(encoder, tokenizer, TEXTS, CPU, pooling, batch_tokens)
    expected = plain(directory, TEXTS, pooling)
    assert found.vectors.dtype == np.float32
    assert np.abs(found.vectors - expected).max() < 1e-5
    distances = np.abs(expected[:, None] - expected).max(2)
    assert np.median(distances) > 0.1  # so that another order would be noticed


def test_what_is_too_long_is_cut_and_counted(model):
    _, encoder, tokenizer = model
    longest = encoder.params.max_positions
    words = SENTENCES[0].split()[0] + " "
    fits = words * ((longest - 2) // len(tokenizer.backend.encode(words, add_special_tokens=False).ids))
    assert len(tokenizer.backend.encode(fits).ids) == longest
    found = embed(encoder, tokenizer, [fits, fits + "a", fits + "a garden", "a"], CPU)
    assert found.cut == 2
    assert np.allclose(found.vectors[0], found.vectors[1:3], atol=1e-6)
    assert embed(encoder, tokenizer, ["a", fits], CPU).cut == 0


def test_no_text_one_text_an_empty_one_and_an_unknown_one(model):
    _, encoder, tokenizer = model
    assert embed(encoder, tokenizer, [], CPU).vectors.shape == (0, encoder.params.hidden)
    together = embed(encoder, tokenizer, TEXTS, CPU)
    for text in ("", TEXTS[0], "Ω"):
        alone = embed(encoder, tokenizer, [text], CPU)
        assert np.abs(alone.vectors[0] - together.vectors[TEXTS.index(text)]).max() < 1e-5
        assert np.isfinite(alone.vectors).all()
        assert alone.unk_rate == (text == "Ω")


def test_dropout_is_off_and_the_mode_is_left_as_it_was(tiny_project):
    directory = tiny_project / "data" / "models" / "pretrained"
    encoder, tokenizer = load_pretraining_model(directory).encoder, load_tokenizer(directory)
    expected = embed(encoder, tokenizer, TEXTS[:5], CPU).vectors
    for part in encoder.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.5
    for training in (True, False):
        encoder.train(training)
        assert np.array_equal(embed(encoder, tokenizer, TEXTS[:5], CPU).vectors, expected)
        assert encoder.training == training


@settings(deadline=None)
@given(st.lists(st.integers(2, 40), max_size=60), st.integers(1, 200))
def test_batches_hold_each_text_once_and_what_fits(sizes, batch_tokens):
    found = [rows.tolist() for rows in by_length(np.array(sizes, np.int64), batch_tokens)]
    flat = [row for rows in found for row in rows]
    assert sorted(flat) == list(range(len(sizes)))
    assert [sizes[row] for row in flat] == sorted(sizes)
    padded = [len(rows) * max(sizes[row] for row in rows) for rows in found]
    assert all(tokens <= batch_tokens or len(rows) == 1 for rows, tokens in zip(found, padded, strict=True))
    # Nor was one more left room for.
    for rows, following in pairwise(found):
        assert (len(rows) + 1) * sizes[following[0]] > batch_tokens
