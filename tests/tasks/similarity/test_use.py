import numpy as np
import pytest
import torch

from maskline.core.errors import UserError
from maskline.model.directory import export, read_model
from maskline.model.heads import PretrainingModel
from maskline.tasks.similarity.use import open_predictor
from maskline.tokenization.load import load_tokenizer
from tests.model.test_directory import tokenizer_files
from tests.tasks.similarity.test_model import PARAMS, model
from tests.tiny import VOCAB_SIZE, write_tokenizer

CPU = torch.device("cpu")


@pytest.fixture(name="tokenizer", scope="module")
def _tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer")


@pytest.fixture(name="predictor", scope="module")
def _predictor(tmp_path_factory, tokenizer):
    directory = tmp_path_factory.mktemp("model") / "model"
    export(directory, model(), "BertModel", tokenizer_files(tokenizer), "# card", {})
    return open_predictor(read_model(directory, "finetune"), load_tokenizer(tokenizer), CPU)


def pair(first, second):
    return dict(zip(("sentence1", "sentence2"), (first, second), strict=True))


def test_a_pair_has_one_similarity_alone_or_among_others(predictor):
    draw = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in draw.integers(5, 97, size=number % 25)) for number in range(60)]
    inputs = [pair(texts[n], texts[-n - 1]) for n in range(60)]
    together = predictor.predict(inputs)
    assert together.cut == together.windowed == 0
    alone = [predictor.predict([one]).rows[0]["similarity"] for one in inputs]
    assert [row["similarity"] for row in together.rows] == pytest.approx(alone, abs=1e-5)
    assert len({round(value, 4) for value in alone}) > 20


def test_the_order_of_a_pair_means_nothing_and_equal_texts_are_alike(predictor):
    there, back, same, spelled = predictor.predict(
        [pair("w5 w6", "w7"), pair("w7", "w5 w6"), pair("w8 w9", "w8 w9"), pair("w8 w9", "W8  w9")]
    ).rows
    assert there == back
    assert same == spelled == {"similarity": 1.0}


def test_empty_texts_have_a_similarity(predictor):
    rows = predictor.predict([pair("", ""), pair("", "w5"), pair(" \u200b", "w5")]).rows
    assert rows[0] == {"similarity": 1.0}
    assert rows[1] == rows[2]
    assert -1 <= rows[1]["similarity"] < 1
    assert predictor.predict([]).rows == []


def test_pairs_that_are_cut_are_counted(predictor):
    long = "w5 " * 31
    predicted = predictor.predict([pair("w5", long), pair(long, long + "w6"), pair("w5", "w5 " * 30)])
    assert predicted.cut == 2
    assert predicted.rows[0] == predicted.rows[2]
    assert predicted.rows[1] == {"similarity": 1.0}


def test_a_model_with_a_head_is_refused(tmp_path, tokenizer):
    pretrained = PretrainingModel(PARAMS.model_copy(update={"mlm_head": "linear"}), VOCAB_SIZE)
    export(tmp_path / "model", pretrained, "BertModel", tokenizer_files(tokenizer), "# card", {})
    with pytest.raises(UserError, match=r"holds, and the model has not, cls\."):
        open_predictor(read_model(tmp_path / "model", "pretrain"), load_tokenizer(tokenizer), CPU)
