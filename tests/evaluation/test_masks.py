import numpy as np
import pytest
import torch

from maskline.evaluation.masks import mask_probabilities, ranking
from maskline.model.attention import Layout
from maskline.model.directory import load_pretraining_model
from maskline.tokenization.load import load_tokenizer

CPU = torch.device("cpu")


@pytest.fixture(name="loaded")
def _loaded(tiny_project):
    directory = tiny_project / "data" / "models" / "pretrained"
    return load_pretraining_model(directory), load_tokenizer(directory)


def test_probabilities_are_those_of_the_masked_positions(loaded):
    model, tokenizer = loaded
    ids = np.array(tokenizer.backend.encode("the [MASK] meets the [MASK] of city").ids)
    probabilities = mask_probabilities(model, ids, np.zeros_like(ids), tokenizer.special, CPU)
    with torch.no_grad():
        layout = Layout.of(torch.tensor([len(ids)]))
        x = model.eval().encoder(torch.from_numpy(ids), torch.zeros(len(ids), dtype=torch.long), layout)
        expected = model.mlm(x).softmax(1).numpy()[[2, 5]]
    assert probabilities == pytest.approx(expected, abs=1e-6)


def test_ranking_is_by_probability_then_by_id():
    assert ranking(np.array([0.1, 0.3, 0.1, 0.5], np.float32)).tolist() == [3, 1, 0, 2]
