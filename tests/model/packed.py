"""What holds for an encoder of any architecture: packed sequences do not meet, and tokens see both sides."""

import torch

from maskline.model.attention import Layout


def no_sequence_sees_its_neighbours(encoder, batch):
    """Check a batch of sequences of 7, 5 and 3 tokens."""
    x = encoder(batch.input_ids, batch.token_type_ids, batch.layout)
    parts = (tensor.split([7, 5, 3]) for tensor in (x, batch.input_ids, batch.token_type_ids))
    for together, input_ids, token_type_ids in zip(*parts, strict=True):
        alone = encoder(input_ids, token_type_ids, Layout.of(torch.tensor([len(input_ids)])))
        torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)
    changed = batch.input_ids.clone()
    changed[7:12] = 50
    same = (x == encoder(changed, batch.token_type_ids, batch.layout)).all(-1)
    assert same[:7].all()
    assert not same[7:12].any()
    assert same[12:].all()


def every_token_sees_both_ends(encoder, batch):
    """Check a batch of sequences of 7 tokens; return their encoding."""
    x = encoder(batch.input_ids, batch.token_type_ids, batch.layout)
    for place in (0, 6):
        changed = batch.input_ids.clone()
        changed[place::7] = 5
        y = encoder(changed, batch.token_type_ids, batch.layout)
        assert ((x - y).abs().amax(-1) > 1e-3).all()
    return x
