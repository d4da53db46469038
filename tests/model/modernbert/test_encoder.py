import cmath

import pytest
import torch
from torch import nn

from maskline.model.attention import Layout, attention
from maskline.model.heads import Inputs, PretrainingModel
from maskline.model.modernbert import encoder as module
from maskline.model.modernbert.encoder import CUTOFF, Encoder, Rotation, SelfAttention, _Rotate, _turned
from maskline.tasks.classification.model import ClassificationModel
from tests.model.packed import every_token_sees_both_ends, no_sequence_sees_its_neighbours
from tests.tiny import MODERNBERT, VOCAB_SIZE, tiny_params, unpadded

PARAMS = tiny_params(MODERNBERT | {"model.initializer_range": 0.3}).model


@pytest.fixture(name="model")
def _model():
    model = PretrainingModel(PARAMS, VOCAB_SIZE)
    model.reset(torch.Generator().manual_seed(0))
    return model.eval()


def inputs(rows=3, width=7, short=(0, 2, 4)):
    """Return a batch of sequences of which number i lacks `short[i]` of `width` tokens."""
    draw = torch.Generator().manual_seed(1)
    input_ids = torch.randint(5, VOCAB_SIZE, (rows, width), generator=draw)
    mask = torch.arange(width) < width - torch.tensor(short)[:, None]
    input_ids, token_type_ids, layout = unpadded(input_ids, torch.zeros_like(input_ids), mask)
    positions = (torch.rand(rows, width, generator=draw) < 0.3)[mask].nonzero()[:, 0]
    return Inputs(input_ids, token_type_ids, layout, positions, input_ids[positions], torch.full((rows,), -100))


def test_attention_is_the_formula_of_the_paper_with_complex_numbers_for_rotations():
    """Numbers i and i + K / 2 of a head are a point of the plane, which position p turns by p / theta ** (2 i / K)."""
    attend = SelfAttention(PARAMS)
    lengths = [7, 5]
    layout = Layout.of(torch.tensor(lengths))
    x = torch.randn(sum(lengths), PARAMS.hidden, generator=torch.Generator().manual_seed(0))
    size = PARAMS.hidden // PARAMS.heads
    half = size // 2
    expected = []
    for sequence in x.split(lengths):
        q, k, v = attend.qkv(sequence).detach().chunk(3, -1)
        heads = []
        for head in range(PARAMS.heads):
            part = slice(head * size, (head + 1) * size)
            turned = []
            for vectors in (q[:, part].tolist(), k[:, part].tolist()):
                points = [[complex(row[i], row[i + half]) for i in range(half)] for row in vectors]
                turned.append(
                    [
                        [
                            point * cmath.exp(1j * place / PARAMS.rope_theta ** (2 * i / size))
                            for i, point in enumerate(row)
                        ]
                        for place, row in enumerate(points)
                    ]
                )
            scores = [
                [sum((a * b.conjugate()).real for a, b in zip(query, key, strict=True)) for key in turned[1]]
                for query in turned[0]
            ]
            heads.append((torch.tensor(scores) / size**0.5).softmax(-1) @ v[:, part])
        expected.append(attend.out(torch.cat(heads, -1)))
    ours = attend(x, layout, Rotation(PARAMS)(layout))
    torch.testing.assert_close(ours, torch.cat(expected), atol=1e-6, rtol=0)


def test_the_gradient_of_a_rotation_is_that_of_its_formula():
    layout = Layout.of(torch.tensor([4, 3]))
    rotation = Rotation(PARAMS)(layout)
    draw = torch.Generator().manual_seed(0)
    qkv, upstream = (torch.randn(7, 3, 2, 10, generator=draw) for _ in range(2))
    ours, written_out = qkv.clone().requires_grad_(), qkv.clone().requires_grad_()
    _Rotate.apply(ours, *rotation).backward(upstream)
    _turned(written_out, *rotation).backward(upstream)
    torch.testing.assert_close(ours.grad, written_out.grad, atol=1e-6, rtol=0)
    assert not torch.equal(ours.grad[:, :2], upstream[:, :2])
    assert torch.equal(ours.grad[:, 2], upstream[:, 2])


def test_no_sequence_sees_its_neighbours(model):
    no_sequence_sees_its_neighbours(model.encoder, inputs())


def test_every_token_sees_those_on_both_sides_and_how_far_away_but_no_segment(model):
    batch = inputs(short=(0, 0, 0))
    x = every_token_sees_both_ends(model.encoder, batch)
    assert torch.equal(x, model.encoder(batch.input_ids, torch.ones_like(batch.input_ids), batch.layout))
    swapped = batch.input_ids.clone()
    swapped[[1, 5]] = swapped[[5, 1]]
    assert (x[3] - model.encoder(swapped, batch.token_type_ids, batch.layout)[3]).abs().max() > 1e-3


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_the_shortest_sequences_give_finite_losses_and_every_weight_a_gradient(model, precision):
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
        mlm, nsp = model.losses(inputs(short=(0, 6, 2)))
    mlm.backward()
    assert nsp is None
    for name, parameter in model.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0, name


def test_bfloat16_is_close_to_float32(model):
    batch = inputs()
    with torch.autocast("cpu", torch.bfloat16):
        low = model.losses(batch)[0].item()
    assert low == pytest.approx(model.losses(batch)[0].item(), rel=0.02)
    assert low != model.losses(batch)[0].item()


def test_the_decoder_stays_the_embedding(model):
    assert model.mlm.decoder.weight is model.encoder.embeddings.token.weight
    assert model.nsp is None
    fresh = PretrainingModel(PARAMS, VOCAB_SIZE)
    fresh.load_state_dict(model.state_dict())
    assert fresh.mlm.decoder.weight is fresh.encoder.embeddings.token.weight
    assert torch.equal(fresh.mlm.decoder.weight, model.mlm.decoder.weight)
    assert not [name for name in model.state_dict() if "rotation" in name]


def test_nothing_but_the_decoder_has_a_bias(model):
    assert [name for name, _ in model.named_parameters() if name.endswith("bias")] == ["mlm.decoder.bias"]
    assert isinstance(model.encoder.layers[0].attention_norm, nn.Identity)
    assert isinstance(model.encoder.layers[1].attention_norm, nn.LayerNorm)


def test_dropout_acts_in_training_alone():
    encoder = Encoder(PARAMS.model_copy(update={"dropout": 0.5}), VOCAB_SIZE)
    batch = inputs()
    arguments = (batch.input_ids, batch.token_type_ids, batch.layout)
    assert not torch.equal(encoder(*arguments), encoder(*arguments))
    encoder.eval()
    assert torch.equal(encoder(*arguments), encoder(*arguments))


@pytest.mark.parametrize("place", ["embeddings.dropout", "layers.2.attention_dropout", "layers.2.dropout"])
def test_dropout_is_where_transformers_has_it(place):
    encoder = Encoder(PARAMS, VOCAB_SIZE)
    batch = inputs()
    arguments = (batch.input_ids, batch.token_type_ids, batch.layout)
    before = encoder(*arguments)
    encoder.get_submodule(place).p = 0.5
    assert not torch.equal(encoder(*arguments), before)


def deviation(weight):
    """Return the deviation of the normal distribution of which `weight` is drawn where it is not cut off."""
    return weight.std().item() / 0.8796  # of a normal distribution that is cut off at two deviations


def test_initial_weights_are_those_of_transformers_and_of_the_seed():
    params = PARAMS.model_copy(update={"initializer_range": 0.02, "hidden": 64, "intermediate": 99, "layers": 8})
    models = [ClassificationModel(params, 999, 300, 0.0) for _ in range(3)]
    before = torch.get_rng_state()
    for model, seed in zip(models, (0, 0, 1), strict=True):
        model.reset(torch.Generator().manual_seed(seed))
    assert torch.equal(torch.get_rng_state(), before)
    small = 0.02 / 4
    expected = {"token": 0.02, "qkv": 0.02, "up": 0.02, "out": small, "down": small, "dense": small}
    expected["classifier"] = 64**-0.5
    for name, weight in models[0].named_parameters():
        assert torch.equal(weight, models[1].get_parameter(name))
        if "norm" in name:
            assert (weight == 1).all()
        elif name.endswith("bias"):
            assert (weight == 0).all()
        else:
            assert not torch.equal(weight, models[2].get_parameter(name))
            wanted = expected[name.split(".")[-2]]
            assert deviation(weight) == pytest.approx(wanted, rel=0.05), name
            assert weight.abs().max() <= CUTOFF * wanted


def test_some_heads_start_by_looking_at_a_place_beside_their_token_whatever_is_there(monkeypatch):
    params = PARAMS.model_copy(
        update={"hidden": 96, "heads": 3, "neighbour_heads": 3, "initializer_range": 0.02, "rope_theta": 100.0}
    )
    model = PretrainingModel(params, 999)
    model.reset(torch.Generator().manual_seed(0))
    weights = []

    def spy(qkv, layout, dropout):
        q, k, _ = qkv.unbind(1)
        weights.append((torch.einsum("nhk,mhk->hnm", q, k) / 32**0.5).softmax(-1))
        return attention(qkv, layout, dropout)

    monkeypatch.setattr(module, "attention", spy)
    input_ids = torch.randint(5, 999, (50,), generator=torch.Generator().manual_seed(1))
    model.encoder(input_ids, torch.zeros_like(input_ids), Layout.of(torch.tensor([50])))
    assert len(weights) == 3  # layers
    for layer in weights:
        for head, offset in zip(layer, (-1, 1, -2), strict=True):
            means = {place: head.diagonal(place).mean().item() for place in range(-49, 50)}
            assert max(means, key=means.get) == offset
            assert means[offset] > 0.25


def test_what_all_embeddings_have_in_common_changes_no_prediction():
    params = PARAMS.model_copy(update={"neighbour_heads": 2, "initializer_range": 0.02})
    weights = []
    for heads in (0, 2):
        model = PretrainingModel(params.model_copy(update={"neighbour_heads": heads}), VOCAB_SIZE)
        model.reset(torch.Generator().manual_seed(0))
        weights.append(model.mlm.decoder.weight.detach())
    x = torch.randn(5, params.hidden, generator=torch.Generator().manual_seed(1))
    before, after = ((x @ weight.T).softmax(-1) for weight in weights)
    torch.testing.assert_close(before, after, atol=1e-6, rtol=0)
    lengths = (weights[1] - weights[0]).norm(dim=1)
    torch.testing.assert_close(lengths, weights[0].norm(dim=1).mean().expand(VOCAB_SIZE), atol=1e-5, rtol=0)
