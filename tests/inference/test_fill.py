import os

import pytest
import torch

from maskline.core.errors import UserError
from maskline.inference.fill import _insert, fill_masks
from maskline.model.directory import load_pretraining_model
from maskline.tokenization.load import load_tokenizer

CPU = torch.device("cpu")


@pytest.fixture(name="loaded")
def _loaded(tiny_project):
    directory = tiny_project / "data" / "models" / "pretrained"
    return load_pretraining_model(directory), load_tokenizer(directory)


def test_each_mask_is_filled_in_the_text_as_it_was_typed(loaded):
    first, second = fill_masks(*loaded, "The [MASK] meets  the [MASK], Paul.", 3, CPU)
    assert len(first) == len(second) == 3
    for fill in first:
        assert fill.text.endswith(" meets  the [MASK], Paul.")
    for fill in second:
        assert fill.text.startswith("The [MASK] meets  the")
        assert fill.text.endswith(", Paul.")
    assert first[0].probability > first[1].probability > first[2].probability > 0


def test_a_piece_that_continues_a_word_joins_it(loaded):
    _, tokenizer = loaded
    first, continued = (tokenizer.pieces.index(piece) for piece in ("i", "##i"))
    assert _insert(["play ", " now"], 0, tokenizer, continued) == "playi now"
    assert _insert(["play ", " now"], 0, tokenizer, first) == "play i now"
    assert _insert(["a ", " b ", " c"], 1, tokenizer, first) == "a [MASK] b i c"


def test_a_text_without_a_mask_is_refused(loaded):
    with pytest.raises(UserError, match=r"there is no \[MASK\]"):
        fill_masks(*loaded, "The [mask] is small.", 3, CPU)


def test_bytes_of_another_encoding_are_told(loaded):
    with pytest.raises(UserError, match="not UTF-8"):
        fill_masks(*loaded, os.fsdecode(b"caf\xe9 [MASK]"), 3, CPU)


def test_a_text_may_be_as_long_as_the_model_reads_and_no_longer(loaded):
    model, tokenizer = loaded
    text = "[MASK]" + " the" * 29
    assert fill_masks(model, tokenizer, text, 1, CPU)
    with pytest.raises(UserError, match="has 33 tokens and the model reads at most 32"):
        fill_masks(model, tokenizer, text + " the", 1, CPU)
