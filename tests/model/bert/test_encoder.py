import math

import pytest
import torch
from torch import nn

from maskline.model.attention import Layout
from maskline.model.bert.encoder import Encoder, SelfAttention, initialize, sinusoids
from maskline.model.heads import Inputs, PretrainingModel, pretraining_losses
from tests.model.packed import every_token_sees_both_ends, no_sequence_sees_its_neighbours
from tests.tiny import VOCAB_SIZE, tiny_params, unpadded

PARAMS = tiny_params({"model.dropout": 0.0, "model.initializer_range": 0.3}).model


@pytest.fixture(name="model")
def _model():
    model = PretrainingModel(PARAMS, VOCAB_SIZE)
    model.reset(torch.Generator().manual_seed(0))
    return model.eval()


def inputs(rows=3, width=7, short=(0, 2, 4)):
    """Return a batch of pairs of which sequence i lacks `short[i]` of `width` tokens."""
    draw = torch.Generator().manual_seed(1)
    input_ids = torch.randint(5, VOCAB_SIZE, (rows, width), generator=draw)
    mask = torch.arange(width) < width - torch.tensor(short)[:, None]
    input_ids, token_type_ids, layout = unpadded(input_ids, (torch.arange(width) >= 2).long().expand(rows, -1), mask)
    positions = (torch.rand(rows, width, generator=draw) < 0.3)[mask].nonzero()[:, 0]
    return Inputs(input_ids, token_type_ids, layout, positions, input_ids[positions], torch.tensor([0, 1, -100]))


def test_attention_is_the_formula_of_the_paper():
    """softmax(q k^T / sqrt(K)) v over the real tokens, written out for each head."""
    attention = SelfAttention(PARAMS)
    lengths = [7, 5, 3]
    x = torch.randn(sum(lengths), PARAMS.hidden, generator=torch.Generator().manual_seed(0))
    size = PARAMS.hidden // PARAMS.heads
    expected = []
    for sequence in x.split(lengths):
        q, k, v = attention.qkv(sequence).chunk(3, -1)
        heads = []
        for head in range(PARAMS.heads):
            part = slice(head * size, (head + 1) * size)
            heads.append((q[:, part] @ k[:, part].mT / math.sqrt(size)).softmax(-1) @ v[:, part])
        expected.append(attention.out(torch.cat(heads, -1)))
    ours = attention(x, Layout.of(torch.tensor(lengths)))
    torch.testing.assert_close(ours, torch.cat(expected), atol=1e-6, rtol=0)


def test_no_sequence_sees_its_neighbours(model):
    no_sequence_sees_its_neighbours(model.encoder, inputs())


def test_every_token_sees_those_on_both_sides_its_place_and_its_segment(model):
    batch = inputs(short=(0, 0, 0))
    every_token_sees_both_ends(model.encoder, batch)
    same = torch.full_like(batch.input_ids, 50)
    x = model.encoder(same, torch.zeros_like(same), batch.layout)
    assert (x[0] - x[1]).abs().max() > 1e-3
    assert (x - model.encoder(same, torch.ones_like(same), batch.layout)).abs().max() > 1e-3


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_the_shortest_sequences_give_finite_losses_and_gradients(model, precision):
    batch = inputs(short=(0, 6, 2))
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
        mlm, nsp = model.losses(batch)
    (mlm + nsp).backward()
    assert torch.isfinite(mlm + nsp)
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


def test_the_head_on_masked_positions_is_the_head_everywhere_then_selected(model):
    batch = inputs()
    everywhere = model.mlm(model.encoder(batch.input_ids, batch.token_type_ids, batch.layout))
    logits, _ = model(batch)
    assert logits.shape == (len(batch.masked_positions), VOCAB_SIZE)
    torch.testing.assert_close(logits, everywhere[batch.masked_positions], atol=1e-5, rtol=0)


def test_losses_are_sums_over_their_own_targets(model):
    batch = inputs()
    mlm_logits, nsp_logits = model(batch)
    mlm, nsp = pretraining_losses(mlm_logits, nsp_logits, batch)
    rows = torch.arange(len(batch.masked_labels))
    assert mlm.item() == pytest.approx(-mlm_logits.log_softmax(-1)[rows, batch.masked_labels].sum().item(), abs=1e-4)
    log_p = nsp_logits.log_softmax(-1)
    assert nsp.item() == pytest.approx(-(log_p[0, 0] + log_p[1, 1]).item(), abs=1e-5)


def test_the_decoder_stays_the_embedding(model):
    assert model.mlm.decoder.weight is model.encoder.embeddings.token.weight
    fresh = PretrainingModel(PARAMS, VOCAB_SIZE)
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(fresh.encoder.embeddings.token.weight, model.encoder.embeddings.token.weight)
    optimizer = torch.optim.SGD(fresh.parameters(), 0.1)
    batch = inputs()
    mlm, nsp = pretraining_losses(*fresh(batch), batch)
    (mlm + nsp).backward()
    optimizer.step()
    assert fresh.mlm.decoder.weight.data_ptr() == fresh.encoder.embeddings.token.weight.data_ptr()
    assert not torch.equal(fresh.mlm.decoder.weight, model.mlm.decoder.weight)
    assert len({id(parameter) for parameter in fresh.parameters()}) == len(list(fresh.parameters()))


def test_dropout_acts_in_training_alone():
    encoder = Encoder(PARAMS.model_copy(update={"dropout": 0.5}), VOCAB_SIZE)
    batch = inputs()
    arguments = (batch.input_ids, batch.token_type_ids, batch.layout)
    assert not torch.equal(encoder(*arguments), encoder(*arguments))
    encoder.eval()
    assert torch.equal(encoder(*arguments), encoder(*arguments))
    assert encoder(*arguments).shape == (len(batch.input_ids), PARAMS.hidden)


def test_initial_weights_are_those_of_bert_and_of_the_seed():
    params = PARAMS.model_copy(update={"initializer_range": 0.02, "position_init": "normal", "intermediate": 400})
    models = [PretrainingModel(params, 5000) for _ in range(3)]
    before = torch.get_rng_state()
    for model, seed in zip(models, (0, 0, 1), strict=True):
        model.reset(torch.Generator().manual_seed(seed))
    assert torch.equal(torch.get_rng_state(), before)
    for name, weight in models[0].named_parameters():
        assert torch.equal(weight, models[1].get_parameter(name))
        if "norm" in name and name.endswith("weight"):
            assert (weight == 1).all()
        elif name.endswith("bias"):
            assert (weight == 0).all()
        else:
            assert not torch.equal(weight, models[2].get_parameter(name))
            if weight.numel() > 5000:
                assert weight.std().item() == pytest.approx(0.02, rel=0.03)
                assert weight.mean().item() == pytest.approx(0, abs=0.001)


@pytest.mark.parametrize("hidden", [16, 15])
def test_positions_may_start_as_sinusoids(hidden):
    params = PARAMS.model_copy(update={"position_init": "sinusoidal", "hidden": hidden, "heads": 1})
    encoder = Encoder(params, VOCAB_SIZE)
    initialize(encoder, params, torch.Generator().manual_seed(0))
    expected = torch.empty(params.max_positions, hidden)
    for position in range(params.max_positions):
        for column in range(hidden):
            angle = position / params.position_base ** ((column - column % 2) / hidden)
            expected[position, column] = math.cos(angle) if column % 2 else math.sin(angle)
    torch.testing.assert_close(
        sinusoids(params.max_positions, hidden, params.position_base), expected, atol=1e-5, rtol=0
    )
    weight = encoder.embeddings.position.weight
    assert isinstance(weight, nn.Parameter)
    torch.testing.assert_close(weight.detach(), params.position_scale * expected, atol=1e-6, rtol=0)


def test_the_keys_of_matched_heads_start_equal_to_their_queries():
    params = PARAMS.model_copy(update={"heads": 4, "matched_heads": 3})
    model = PretrainingModel(params, 97)
    model.reset(torch.Generator().manual_seed(0))
    for layer in model.encoder.layers:
        query, key, _ = layer.attention.qkv.weight.view(3, 4, params.hidden // 4, params.hidden)
        assert torch.equal(query[:3], key[:3])
        assert not torch.isclose(query[3], key[3]).any()
        assert query[:3].std().item() == pytest.approx(0.5 * params.hidden**-0.5, rel=0.1)
        assert query[3].std().item() == pytest.approx(params.initializer_range, rel=0.2)
    query = model.encoder.layers[0].attention.qkv.weight[: params.hidden]
    assert not torch.equal(query, model.encoder.layers[1].attention.qkv.weight[: params.hidden])


PLACES = ("embeddings", "attention weights", "after attention", "after the feed-forward network")


def encoder_that_drops(place):
    """Return an encoder whose dropout acts at `place` alone; what is silenced otherwise has no other way to act."""
    encoder = Encoder(PARAMS.model_copy(update={"layers": 1, "dropout": 0.5}), VOCAB_SIZE)
    (layer,) = encoder.layers
    silent = {"after attention": layer.down, "after the feed-forward network": layer.attention.out}
    if place != "embeddings":
        encoder.embeddings.dropout.p = 0.0
    if place != "attention weights":
        layer.attention.dropout = 0.0
    if place not in silent:
        layer.dropout.p = 0.0
    else:  # one dropout serves both: of zeros, nothing is left to drop
        for parameter in silent[place].parameters():
            nn.init.zeros_(parameter)
    return encoder


@pytest.mark.parametrize("place", PLACES)
def test_dropout_acts_at_each_of_its_places(place):
    encoder, batch = encoder_that_drops(place), inputs()
    arguments = (batch.input_ids, batch.token_type_ids, batch.layout)
    assert not torch.equal(encoder(*arguments), encoder(*arguments))
    encoder.eval()
    assert torch.equal(encoder(*arguments), encoder(*arguments))
