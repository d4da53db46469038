import numpy as np
import pytest

from maskline.tasks.similarity.baselines import embedding_vectors, tfidf_vectors
from maskline.tasks.similarity.measures import cosines
from maskline.tasks.similarity.pairs import encode_pairs
from maskline.tokenization.load import load_tokenizer
from tests.tasks.similarity.test_model import model
from tests.tiny import write_tokenizer


def test_tfidf_weighs_words_by_the_texts_of_training():
    training = ["the cat", "the dog", "the bird", "a x"]
    texts = ["The cat", "the dog", "the cat", "new words", "x"]
    rows = np.array([[0, 2], [0, 1], [0, 3], [3, 3], [4, 4]])
    # Of 4 texts, 3 have `the` and 1 has `cat`: the weights are ln(5/4) + 1 and ln(5/2) + 1 (smoothed).
    the, rare = np.log(5 / 4) + 1, np.log(5 / 2) + 1
    expected = [1, the**2 / (the**2 + rare**2), 0, 0, 1]
    assert cosines(tfidf_vectors(training, texts), rows) == pytest.approx(expected, abs=1e-6)


def test_tfidf_of_training_without_words_is_nothing():
    vectors = tfidf_vectors(["?", "!"], ["cat", "!", "dog"])
    assert cosines(vectors, np.array([[0, 2], [1, 1]])).tolist() == [0, 0]


def test_token_embeddings_are_averaged_without_special_tokens(tmp_path):
    encoder = model().encoder
    tokenizer = load_tokenizer(write_tokenizer(tmp_path / "tokenizer"))
    pairs = encode_pairs([["w5 w6", ""], ["w7", "w6"]], tokenizer, 8)
    found = embedding_vectors(encoder, pairs.texts)
    table = encoder.embeddings.token.weight.detach().numpy()
    mean = table[[5, 6]].mean(0)
    np.testing.assert_allclose(found[0], mean / np.linalg.norm(mean), atol=1e-6)
    np.testing.assert_allclose(found[pairs.rows[0, 1]], table[7] / np.linalg.norm(table[7]), atol=1e-6)
    assert not found[pairs.rows[1, 0]].any()
