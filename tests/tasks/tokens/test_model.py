import pytest
import torch

from maskline.model.attention import Layout
from maskline.tasks.tokens.model import TokenModel
from tests.tiny import VOCAB_SIZE, tiny_params


@pytest.mark.parametrize("part", ["encoder", "classifier"])
def test_dropout_acts_in_training_alone(part):
    params = tiny_params({"model.dropout": 0.5 if part == "encoder" else 0.0}).model
    model = TokenModel(params, VOCAB_SIZE, 5, dropout=0.5 if part == "classifier" else 0.0)
    arguments = (torch.arange(5, 17), Layout.of(torch.tensor([7, 2, 3])), torch.tensor([1, 2, 8]))
    assert not torch.equal(model(*arguments), model(*arguments))
    model.eval()
    assert torch.equal(model(*arguments), model(*arguments))
    assert model(*arguments).shape == (3, 5)
