import pytest
import torch
from torch.nn import functional

from maskline.model import attention as module
from maskline.model.attention import Layout, attention

LENGTHS = torch.tensor([4, 1, 7, 6])
HEADS, SIZE = 3, 8


def qkv(count=18, dtype=torch.float32):
    return torch.randn(count, 3, HEADS, SIZE, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()


def one_by_one(x, lengths=LENGTHS):
    """Return attention computed for each sequence alone."""
    parts = []
    for part in x.split(lengths.tolist()):
        q, k, v = part.permute(1, 2, 0, 3)
        parts.append(functional.scaled_dot_product_attention(q, k, v).transpose(0, 1))
    return torch.cat(parts)


@pytest.mark.parametrize("by_products", [True, False])
@pytest.mark.parametrize("lengths", [LENGTHS, torch.tensor([6, 6, 6]), torch.tensor([1])])
def test_each_sequence_attends_to_itself_alone(lengths, by_products, monkeypatch):
    """Both ways, that of a CPU and that of other devices, forward and backward."""
    if not by_products:
        monkeypatch.setattr(module, "_attention_by_products", functional.scaled_dot_product_attention)
    x, y = qkv(int(lengths.sum())), qkv(int(lengths.sum()))
    ours, expected = attention(x, Layout.of(lengths), 0.0), one_by_one(y, lengths)
    torch.testing.assert_close(ours, expected, atol=1e-6, rtol=0)
    weights = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1))
    (ours * weights).sum().backward()
    (expected * weights).sum().backward()
    torch.testing.assert_close(x.grad, y.grad, atol=1e-6, rtol=0)


def test_bfloat16_differs_by_its_rounding_alone():
    ours = attention(qkv(dtype=torch.bfloat16), Layout.of(LENGTHS), 0.0)
    assert ours.dtype == torch.bfloat16
    torch.testing.assert_close(ours.float(), one_by_one(qkv()), atol=0.02, rtol=0)


def test_dropped_weights_are_made_up_for_in_the_mean():
    torch.manual_seed(0)
    x = qkv().detach()
    drawn = torch.stack([attention(x, Layout.of(LENGTHS), 0.5) for _ in range(3000)])
    assert not torch.equal(drawn[0], drawn[1])
    torch.testing.assert_close(drawn.mean(0), one_by_one(x), atol=0.12, rtol=0)


def test_the_layout_says_where_every_token_lies():
    layout = Layout.of(torch.tensor([3, 1, 2]))
    assert layout.longest == 3
    assert layout.starts.tolist() == [0, 3, 4]
    assert layout.bounds.tolist() == [0, 3, 4, 6]
    assert layout.bounds.dtype == torch.int32
    assert layout.positions.tolist() == [0, 1, 2, 0, 0, 1]
    assert layout.pad_index.tolist() == [0, 1, 2, 3, 3, 3, 4, 5, 5]
    assert layout.pack_index.tolist() == [0, 1, 2, 3, 6, 7]
    assert layout.attention_mask.tolist() == [[True, True, True], [True, False, False], [True, True, False]]
    assert Layout.of(torch.tensor([2, 2])).attention_mask is None


def test_a_sequence_without_tokens_is_refused():
    with pytest.raises(AssertionError, match=r"no \[CLS\]"):
        Layout.of(torch.tensor([3, 0, 2]))


def test_the_layout_moves_as_a_whole():
    layout = Layout.of(LENGTHS).map(lambda tensor: tensor.to("meta"))
    assert layout.longest == 7
    for tensor in (
        layout.starts,
        layout.bounds,
        layout.positions,
        layout.pad_index,
        layout.pack_index,
        layout.attention_mask,
    ):
        assert tensor.device.type == "meta"
