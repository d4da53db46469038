import pytest
import torch

from maskline.model.attention import Layout
from maskline.model.bert.convert import config
from maskline.model.convert import Fit, from_hugging_face, to_hugging_face
from maskline.tasks.classification.model import ClassificationModel
from tests.model.bert.test_convert import ACTIVATIONS, PARAMS, close, pair_batch, randomized, transformers_model
from tests.tiny import VOCAB_SIZE, unpadded


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_classification_equals_transformers(activation):
    params = PARAMS.model_copy(update={"activation": activation})
    content = config(params, VOCAB_SIZE, "BertForSequenceClassification") | {"num_labels": 3}
    theirs = transformers_model("BertForSequenceClassification", content)
    ours = randomized(ClassificationModel(params, VOCAB_SIZE, 3, dropout=0.1))
    assert from_hugging_face(ours, theirs.state_dict()) == Fit([], [])
    input_ids, token_type_ids, mask = pair_batch()
    with torch.no_grad():
        close(ours(*unpadded(input_ids, token_type_ids, mask)), theirs(input_ids, mask.long(), token_type_ids).logits)
    theirs.load_state_dict(to_hugging_face(randomized(ours, seed=2)), strict=True)
    with torch.no_grad():
        close(ours(*unpadded(input_ids, token_type_ids, mask)), theirs(input_ids, mask.long(), token_type_ids).logits)


@pytest.mark.parametrize("part", ["encoder", "classifier"])
def test_dropout_acts_in_training_alone(part):
    params = PARAMS.model_copy(update={"dropout": 0.5 if part == "encoder" else 0.0})
    model = ClassificationModel(params, VOCAB_SIZE, 3, dropout=0.5 if part == "classifier" else 0.0)
    input_ids = torch.arange(5, 17)
    arguments = (input_ids, torch.zeros_like(input_ids), Layout.of(torch.tensor([7, 2, 3])))
    assert not torch.equal(model(*arguments), model(*arguments))
    model.eval()
    assert torch.equal(model(*arguments), model(*arguments))
    assert model(*arguments).shape == (3, 3)


def test_the_mean_is_over_the_tokens_of_each_sequence_alone():
    model = randomized(ClassificationModel(PARAMS, VOCAB_SIZE, 3, 0.0, "mean")).eval()
    input_ids, lengths = torch.arange(5, 17), torch.tensor([7, 2, 3])
    types = torch.arange(12) % 2
    with torch.no_grad():
        together = model(input_ids, types, Layout.of(lengths))
        for row, (ids, kinds) in enumerate(zip(input_ids.split([7, 2, 3]), types.split([7, 2, 3]), strict=True)):
            layout = Layout.of(torch.tensor([len(ids)]))
            alone = model.classifier(model.encoder(ids, kinds, layout).mean(0))
            close(together[row], alone)


def test_what_a_mean_learns_goes_through_every_token_and_not_through_the_pooler():
    model = randomized(ClassificationModel(PARAMS, VOCAB_SIZE, 3, 0.0, "mean"))
    input_ids = torch.arange(5, 17)
    model(input_ids, torch.zeros_like(input_ids), Layout.of(torch.tensor([7, 2, 3]))).square().sum().backward()
    assert model.encoder.pooler.weight.grad is None
    assert model.encoder.embeddings.token.weight.grad[5:17].abs().sum(1).min() > 0
    assert not model.pooled


def test_there_and_back_is_the_same_model():
    ours, copy = (ClassificationModel(PARAMS, VOCAB_SIZE, 3, 0.0) for _ in range(2))
    randomized(ours)
    assert from_hugging_face(copy, to_hugging_face(ours)) == Fit([], [])
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, copy.state_dict()[name]), name
