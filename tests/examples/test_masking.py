import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskline.examples.draws import draw, key
from maskline.examples.masking import Masker
from maskline.examples.settings import MaskingRates
from maskline.model.attention import Layout
from maskline.model.heads import Inputs, pretraining_losses
from tests.tiny import ORDINARY, SPECIAL, VOCAB_SIZE

PAD, UNK, CLS, SEP, MASK = SPECIAL


def masker(rate=0.15, mask=0.8, random=0.1, vocab_size=VOCAB_SIZE):
    made = Masker(MaskingRates(rate=rate, mask=mask, random=random), SPECIAL, vocab_size)
    return lambda ids, keys: made(ids, keys, rate)


def keys(rows, epoch=0):
    return draw(key(0, "masks", epoch), np.arange(rows))


def pairs(rows, width=32):
    """Return a padded batch of pairs of random tokens with some [UNK] among them."""
    ids = np.random.default_rng(0).integers(UNK, VOCAB_SIZE, (rows, width))
    ids[np.isin(ids, (CLS, SEP, MASK))] = UNK
    for row in ids:
        size = np.random.default_rng(row[0]).integers(5, width + 1)
        row[0], row[size // 2], row[size - 1], row[size:] = CLS, SEP, SEP, PAD
    return ids


def test_rates_are_those_of_the_paper():
    ids = np.full((7000, 100), 50)
    shown, positions = masker()(ids, keys(7000))
    assert len(positions) == 7000 * 15  # exactly, since every example has its share
    picked = shown.ravel()[positions]
    assert np.mean(picked == MASK) == pytest.approx(0.8, abs=0.005)
    # A random token is the original one once in 92 times.
    assert np.mean(picked == 50) == pytest.approx(0.1 + 0.1 / 92, abs=0.005)
    assert np.mean((picked != MASK) & (picked != 50)) == pytest.approx(0.1 * 91 / 92, abs=0.005)
    untouched = np.delete(shown.ravel(), positions)
    assert (untouched == 50).all()


def test_random_tokens_are_any_but_the_special_ones():
    ids = np.full((2000, 40), 50)
    shown, positions = masker(rate=0.5, mask=0.0, random=1.0)(ids, keys(2000))
    counts = np.bincount(shown.ravel()[positions], minlength=VOCAB_SIZE)
    assert not counts[list(SPECIAL)].any()
    expected = len(positions) / len(ORDINARY)
    assert ((counts[5:] - expected) ** 2 / expected).sum() / (len(ORDINARY) - 1) < 1.5


@pytest.mark.parametrize(("mask", "random"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)])
def test_extreme_rates_mean_what_they_say(mask, random):
    ids = np.full((1000, 20), 50)
    shown, positions = masker(0.5, mask, random)(ids, keys(1000))
    picked = shown.ravel()[positions]
    assert np.mean(picked == MASK) == pytest.approx(mask, abs=0.02)
    assert np.mean(picked == 50) == pytest.approx(1 - mask - random + random / 92, abs=0.02)


def test_every_position_is_picked_equally_often():
    ids = np.full((10_000, 20), 50)
    _, positions = masker()(ids, keys(10_000))
    assert np.bincount(positions % 20, minlength=20) == pytest.approx(np.full(20, 1500), abs=150)


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 40), st.floats(0.01, 1), st.randoms(use_true_random=False))
def test_special_tokens_are_never_picked_and_something_else_always_is(rows, width, rate, random):
    ids = np.array([[random.choice([*SPECIAL, *ORDINARY]) for _ in range(width)] for _ in range(rows)])
    shown, positions = masker(rate)(ids, keys(rows))
    ordinary = ids >= 5
    assert (np.diff(positions) > 0).all()
    assert ordinary.ravel()[positions].all()
    assert (shown[~ordinary] == ids[~ordinary]).all()
    counts = np.bincount(positions // width, minlength=rows)
    size = ordinary.sum(1)
    assert (counts == np.where(size > 0, np.maximum(1, np.floor(size * rate + 0.5)), 0)).all()


def test_a_row_of_special_tokens_alone_is_left_as_it_is():
    ids = np.array([[CLS, SEP, PAD, PAD], [PAD] * 4, [CLS, UNK, SEP, PAD], [CLS, 50, SEP, PAD]])
    shown, positions = masker()(ids, keys(4))
    assert positions.tolist() == [13]
    assert (shown[:3] == ids[:3]).all()


def test_padding_and_the_rest_of_the_batch_change_nothing():
    ids = pairs(200)
    shown, positions = masker()(ids, keys(200))
    wide = np.pad(ids, [(0, 0), (0, 32)], constant_values=PAD)
    shown_wide, positions_wide = masker()(wide, keys(200))
    assert (shown_wide[:, :32] == shown).all()
    assert (np.stack(np.divmod(positions_wide, 64)) == np.stack(np.divmod(positions, 32))).all()
    for row in range(0, 200, 17):
        alone, picked = masker()(ids[[row]], keys(200)[[row]])
        assert (alone[0] == shown[row]).all()
        assert picked.tolist() == (positions[positions // 32 == row] % 32).tolist()


def test_what_a_smaller_rate_picks_a_larger_one_picks_in_the_same_way():
    ids = pairs(200)
    few, few_positions = masker(rate=0.15)(ids, keys(200))
    many, many_positions = masker(rate=0.3)(ids, keys(200))
    assert set(few_positions.tolist()) < set(many_positions.tolist())
    assert (few.ravel()[few_positions] == many.ravel()[few_positions]).all()


def test_the_batch_given_is_not_changed():
    ids = pairs(20)
    before = ids.copy()
    masker(rate=1.0)(ids, keys(20))
    assert (ids == before).all()


def test_every_epoch_and_every_example_is_masked_in_another_way():
    ids = np.full((50, 40), 50)
    epochs = [masker()(ids, keys(50, epoch))[1] for epoch in range(3)]
    picks = {tuple((epoch[epoch // 40 == row] % 40).tolist()) for epoch in epochs for row in range(50)}
    assert len(picks) == 150


def losses(logits, labels):
    nothing = torch.zeros(0)
    layout, no_pairs = Layout.of(torch.ones(2, dtype=torch.long)), torch.tensor([-100, -100])
    inputs = Inputs(nothing, nothing, layout, nothing, torch.as_tensor(labels), no_pairs)
    return pretraining_losses(logits, torch.zeros(2, 2), inputs)


def test_the_loss_of_knowing_nothing_is_the_logarithm_of_the_vocabulary():
    ids = pairs(30)
    _, positions = masker()(ids, keys(30))
    mlm, nsp = losses(torch.zeros(len(positions), 100), ids.ravel()[positions])
    assert mlm.item() / len(positions) == pytest.approx(math.log(100), abs=1e-6)
    assert nsp.item() == 0


def test_a_batch_with_nothing_to_predict_has_no_loss_and_no_gradient():
    ids = np.array([[CLS, SEP, PAD], [CLS, UNK, SEP]])
    _, positions = masker()(ids, keys(2))
    logits = torch.zeros(len(positions), VOCAB_SIZE, requires_grad=True)
    mlm, nsp = losses(logits, ids.ravel()[positions])
    (mlm + nsp).backward()
    assert (mlm.item(), nsp.item()) == (0, 0)
    assert logits.grad.numel() == 0


CONTINUES = np.zeros(VOCAB_SIZE, bool)
CONTINUES[60:] = True
"""Tokens from 60 on continue the word before them."""


def words_of(row):
    """Return the places of each word of a row."""
    words = []
    for place, token in enumerate(row.tolist()):
        if token in SPECIAL:
            continue
        if CONTINUES[token] and words and words[-1][-1] == place - 1:
            words[-1].append(place)
        else:
            words.append([place])
    return words


def test_whole_words_are_picked_together_at_the_same_share_of_tokens():
    ids = pairs(3000)
    whole = Masker(MaskingRates(rate=0.15, mask=0.8, random=0.1), SPECIAL, VOCAB_SIZE, CONTINUES)
    _, positions = whole(ids, keys(3000), 0.15)
    picked = np.zeros(ids.shape, bool)
    picked.ravel()[positions] = True
    assert not picked[np.isin(ids, list(SPECIAL))].any()
    for row, chosen in zip(ids, picked, strict=True):
        words = words_of(row)
        assert all(len({*chosen[word].tolist()}) == 1 for word in words)
        assert chosen.any() == bool(words)
    long = np.random.default_rng(1).integers(5, VOCAB_SIZE, (2000, 100))
    assert len(whole(long, keys(2000), 0.15)[1]) == pytest.approx(2000 * 15, rel=0.01)


def test_more_whole_words_hold_those_that_fewer_do():
    ids = pairs(200)
    whole = Masker(MaskingRates(rate=0.15, mask=0.8, random=0.1), SPECIAL, VOCAB_SIZE, CONTINUES)
    few, many = ({*whole(ids, keys(200), rate)[1].tolist()} for rate in (0.1, 0.4))
    assert few < many


def test_whole_words_by_hand():
    """A word of three pieces and two of one."""
    ids = np.array([[CLS, 10, 60, 61, 11, 12, SEP]] * 400)
    whole = Masker(MaskingRates(rate=0.4, mask=1.0, random=0.0), SPECIAL, VOCAB_SIZE, CONTINUES)
    shown, _ = whole(ids, keys(400), 0.4)
    masked = {tuple(np.flatnonzero(row == MASK).tolist()) for row in shown}
    # Two tokens are wanted: both single words; or, where the long word comes first, its three pieces.
    assert masked == {(4, 5), (1, 2, 3), (4,), (5,)}
