import pytest
import torch
from torch import nn

from maskline.model.bert.convert import config, model_params
from maskline.model.convert import Fit, from_hugging_face, to_hugging_face
from maskline.model.heads import EncoderModel, Inputs, PretrainingModel
from tests.tiny import VOCAB_SIZE, tiny_params, unpadded

PARAMS = tiny_params({"model.dropout": 0.1, "model.initializer_range": 0.3, "model.layer_norm_eps": 1e-7}).model
ACTIVATIONS = ["gelu", "gelu_tanh", "relu"]


def randomize(model, seed):
    """Move every weight, biases and norms as well, which start alike."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=draw))
    return model.eval()


def transformers_model(name, content):
    import transformers

    with torch.random.fork_rng():  # it draws from the global generator
        torch.manual_seed(0)
        return randomize(getattr(transformers, name)(transformers.BertConfig(**content)), seed=0)


def randomized(model, seed=1):
    model.reset(torch.Generator().manual_seed(seed))
    return randomize(model, seed)


class WithHead(EncoderModel):
    """An encoder with a head that no name of ours is changed for."""

    def __init__(self, params, vocab_size):
        super().__init__(params, vocab_size)
        self.classifier = nn.Linear(params.hidden, 3)


def pair_batch():
    """Return input_ids, token_type_ids and attention_mask of three pairs, two of them padded."""
    draw = torch.Generator().manual_seed(2)
    mask = torch.arange(9) < torch.tensor([9, 7, 4])[:, None]
    input_ids = torch.randint(5, VOCAB_SIZE, (3, 9), generator=draw) * mask
    return input_ids, ((torch.arange(9) >= 3) & mask).long(), mask


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("direction", ["from theirs", "from ours"])
def test_pretraining_equals_transformers(activation, direction):
    params = PARAMS.model_copy(update={"activation": activation})
    content = config(params, VOCAB_SIZE, "BertForPreTraining")
    theirs = transformers_model("BertForPreTraining", content)
    ours = randomized(PretrainingModel(params, VOCAB_SIZE))
    if direction == "from theirs":
        tied = ["cls.predictions.decoder.bias", "cls.predictions.decoder.weight"]
        assert from_hugging_face(ours, theirs.state_dict()) == Fit(missing=[], left_over=tied)
    else:
        missing, unexpected = theirs.load_state_dict(to_hugging_face(ours), strict=False)
        assert set(missing) == {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}  # tied to others
        assert not unexpected
    input_ids, token_type_ids, mask = pair_batch()
    with torch.no_grad():
        arguments = unpadded(input_ids, token_type_ids, mask)
        x = ours.encoder(*arguments)
        nothing = torch.zeros(0, dtype=torch.long)
        mlm, nsp = ours(Inputs(*arguments, torch.arange(len(x)), nothing, nothing))
        output = theirs(input_ids, mask.long(), token_type_ids, output_hidden_states=True)
        pooled = theirs.bert(input_ids, mask.long(), token_type_ids).pooler_output
        first = ours.encoder.embeddings(*arguments)
    assert output.prediction_logits[mask].std(0).mean() > 0.2  # else the comparison would say little
    close(first, output.hidden_states[0][mask])
    close(x, output.hidden_states[-1][mask])
    close(ours.encoder.pool(x, arguments[2]), pooled)
    close(mlm, output.prediction_logits[mask])
    close(nsp, output.seq_relationship_logits)


@pytest.mark.parametrize("build", [PretrainingModel, WithHead])
def test_there_and_back_is_the_same_model(build):
    ours = randomized(build(PARAMS, VOCAB_SIZE))
    copy = build(PARAMS, VOCAB_SIZE)
    assert from_hugging_face(copy, to_hugging_face(ours)) == Fit([], [])
    for name, tensor in ours.state_dict().items():
        assert torch.equal(tensor, copy.state_dict()[name]), name


def test_the_tied_decoder_is_written_once_and_stays_tied():
    ours = randomized(PretrainingModel(PARAMS, VOCAB_SIZE))
    theirs = to_hugging_face(ours)
    assert not [name for name in theirs if "decoder" in name]
    assert len({tensor.data_ptr() for tensor in theirs.values()}) == len(theirs)
    copy = PretrainingModel(PARAMS, VOCAB_SIZE)
    from_hugging_face(copy, theirs)
    assert copy.mlm.decoder.weight is copy.encoder.embeddings.token.weight


def test_what_is_not_there_is_named_and_keeps_its_value():
    pretrained = to_hugging_face(randomized(PretrainingModel(PARAMS, VOCAB_SIZE)))
    without_pooler = {name: weight for name, weight in pretrained.items() if "pooler" not in name}
    model = randomized(WithHead(PARAMS, VOCAB_SIZE), seed=2)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    fit = from_hugging_face(model, without_pooler)
    assert fit.missing == ["bert.pooler.dense.weight", "bert.pooler.dense.bias", "classifier.weight", "classifier.bias"]
    assert fit.left_over == sorted(name for name in pretrained if name.startswith("cls."))
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name]) == name.startswith(("encoder.pooler.", "classifier.")), name


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_config_and_parameters_say_the_same(activation):
    params = PARAMS.model_copy(update={"activation": activation})
    there = {
        "position_init",
        "position_base",
        "position_scale",
        "matched_heads",
    }  # how weights start is no part of what they are
    assert model_params(config(params, VOCAB_SIZE, "BertModel")).model_dump(exclude=there) == params.model_dump(
        exclude=there
    )


def test_an_activation_that_we_lack_is_named():
    content = config(PARAMS, VOCAB_SIZE, "BertModel") | {"hidden_act": "silu"}
    with pytest.raises(ValueError, match="hidden_act silu is none of gelu, gelu_new, relu"):
        model_params(content)


def test_a_linear_head_has_a_matrix_of_its_own():
    params = PARAMS.model_copy(update={"mlm_head": "linear"})
    model = randomized(PretrainingModel(params, VOCAB_SIZE))
    weights = to_hugging_face(model)
    assert {name for name in weights if name.startswith("cls.predictions")} == {
        "cls.predictions.decoder.weight",
        "cls.predictions.bias",
    }
    assert model_params(config(params, VOCAB_SIZE, "BertModel")).mlm_head == "linear"
    again = randomized(PretrainingModel(params, VOCAB_SIZE), seed=3)
    assert from_hugging_face(again, weights) == Fit([], [])
    for mine, theirs in zip(again.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=0, rtol=0)
