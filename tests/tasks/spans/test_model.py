import pytest
import torch

from maskline.model.attention import Layout
from maskline.tasks.spans.model import SpanModel
from tests.tiny import VOCAB_SIZE, tiny_params


@pytest.mark.parametrize("part", ["encoder", "qa_outputs"])
def test_dropout_acts_in_training_alone(part):
    params = tiny_params({"model.dropout": 0.5 if part == "encoder" else 0.0}).model
    model = SpanModel(params, VOCAB_SIZE, dropout=0.5 if part == "qa_outputs" else 0.0)
    input_ids = torch.arange(5, 17)
    arguments = (input_ids, torch.zeros_like(input_ids), Layout.of(torch.tensor([7, 2, 3])))
    assert not torch.equal(model(*arguments), model(*arguments))
    model.eval()
    assert torch.equal(model(*arguments), model(*arguments))
    assert model(*arguments).shape == (12, 2)
