import pytest
import torch
from pydantic import ValidationError

from maskline.adapters.layers import Bottleneck, LowRank, insert, parameters, reset, trained
from tests.adapters.test_directory import IDS, METHODS, SHAPES, outputs, tuning
from tests.model.bert.test_convert import randomized
from tests.model.modernbert.test_tasks import TASKS
from tests.tiny import VOCAB_SIZE, unpadded

NORMS = 2 * 2 * 2 * 16
"""In BERT: weight and bias of two in each of two layers."""
POOLER, HEAD = 16 * 16 + 16, 16 * 3 + 3
BOTTLENECK = 16 * 3 + 3 + 3 * 16 + 16


def model_of(kind="cls", architecture="bert"):
    return randomized(TASKS[kind].new_model(SHAPES[architecture], VOCAB_SIZE, 0.0), seed=2)


@pytest.mark.parametrize(
    ("method", "added", "norms"),
    [
        ("houlsby", 4 * BOTTLENECK, NORMS),
        ("pfeiffer", 2 * BOTTLENECK, 0),
        # Each of two layers: query, value and out of 16 x 16, up of 24 x 16, down of 16 x 24, of rank 2.
        ("lora", 2 * 2 * (3 * (16 + 16) + 2 * (16 + 24)), 0),
        ("probe", 0, 0),
    ],
)
def test_as_many_are_trained_as_counted_by_hand(method, added, norms):
    model = model_of()
    whole = sum(weight.numel() for weight in model.parameters())
    insert(model, METHODS[method])
    assert parameters(model) == {"parameters": whole + added, "trained_parameters": added + norms + POOLER + HEAD}
    assert sum(weight.numel() for weight in trained(model).values()) == added + norms + POOLER + HEAD


@pytest.mark.parametrize(("kind", "head"), [("mean", HEAD), ("tokens", HEAD), ("spans", 16 * 2 + 2), ("similarity", 0)])
def test_the_pooler_is_trained_where_a_head_reads_it_alone(kind, head):
    model = model_of(kind)
    insert(model, METHODS["pfeiffer"])
    assert parameters(model)["trained_parameters"] == 2 * BOTTLENECK + head


@pytest.mark.parametrize("architecture", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_it_starts_next_to_the_encoder_and_learns(method, architecture):
    model = model_of(architecture=architecture)
    before = outputs(model, "cls")
    insert(model, METHODS[method])
    reset(model, torch.Generator().manual_seed(0))
    near = 2e-2 if method in {"houlsby", "pfeiffer"} else 0
    torch.testing.assert_close(outputs(model, "cls"), before, atol=near, rtol=0)
    frozen = {name: weight.clone() for name, weight in model.named_parameters() if not weight.requires_grad}
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], 0.05)
    batch = unpadded(IDS, torch.zeros_like(IDS), torch.ones_like(IDS).bool())
    for _ in range(2):  # of lora the second factors alone have a gradient at first
        model(*batch).square().sum().backward()
        assert all((weight.grad is not None) == weight.requires_grad for weight in model.parameters())
        optimizer.step()
        optimizer.zero_grad()
    assert all(torch.equal(weight, frozen[name]) for name, weight in model.named_parameters() if name in frozen)
    assert (outputs(model, "cls") - before).abs().max() > 0.01


def test_a_bottleneck_and_a_low_rank_change_by_hand():
    bottleneck = Bottleneck(2, 1, torch.nn.ReLU())
    with torch.no_grad():
        bottleneck.down.weight.copy_(torch.tensor([[1.0, 2.0]]))
        bottleneck.down.bias.fill_(-1.0)
        bottleneck.up.weight.copy_(torch.tensor([[3.0], [4.0]]))
        bottleneck.up.bias.copy_(torch.tensor([0.5, 0.0]))
    # 1 + 2 - 1 = 2, and 0 - 1 is cut to 0.
    assert bottleneck(torch.tensor([[1.0, 1.0], [0.0, 0.0]])).tolist() == [[7.5, 9.0], [0.5, 0.0]]
    pair = LowRank(2, 3, 1, 0.5)
    with torch.no_grad():
        pair.a.copy_(torch.tensor([[1.0, -1.0]]))
        pair.b.copy_(torch.tensor([[2.0], [4.0], [6.0]]))
    assert pair(torch.tensor([[3.0, 1.0]])).tolist() == [[2.0, 4.0, 6.0]]


def test_what_query_and_value_get_is_added_to_their_rows_alone():
    model = model_of()
    insert(model, tuning(matrices=["value"]))
    linear = model.encoder.layers[0].attention.qkv
    x = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    before = linear(x)
    linear.lora["value"].a.data.fill_(0.1)
    linear.lora["value"].b.data.fill_(0.2)
    change = linear(x) - before
    assert (change[:, :32] == 0).all()
    expected = x @ linear.lora["value"].a.T @ linear.lora["value"].b.T * 1.5  # alpha 3 over rank 2
    torch.testing.assert_close(change[:, 32:], expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"matrices": ["query", "query"]}, "twice: name each once"),
        ({"matrices": []}, "at least 1"),
        ({"rank": 0}, "greater than or equal to 1"),
        ({"placement": "parallel"}, "houlsby"),
    ],
)
def test_settings_are_checked(changes, expected):
    with pytest.raises(ValidationError, match=expected):
        tuning(**changes)


def test_a_size_that_is_not_little_is_told():
    assert tuning(rank=16).size_error(16) == ("rank 16 is not below the 16 numbers of a token (model.hidden): lower it")
    assert tuning("adapters", bottleneck=17).size_error(16).startswith("bottleneck 17 is not below")
    assert tuning(rank=15, bottleneck=99).size_error(16) is None
    assert tuning("full", rank=99).size_error(16) is None
