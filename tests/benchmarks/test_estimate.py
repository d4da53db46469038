"""The estimate for a node: its count of activations is what autograd saves, and its tables are those of the page."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from benchmarks.estimate import activation_bytes, full_batch
from benchmarks.flops import training_flops
from maskline.model.attention import Layout
from maskline.model.heads import Inputs, PretrainingModel
from tests.project import ROOT
from tests.tiny import VOCAB_SIZE, tiny_params

LENGTH = 32


def saved_bytes(params, sequences):
    """Return the bytes that a forward pass in bfloat16 saves for the backward pass, weights aside."""
    model = PretrainingModel(params, VOCAB_SIZE)
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    zeros = torch.zeros(sequences * LENGTH, dtype=torch.long)
    few = zeros[:sequences]
    batch = Inputs(zeros, zeros, Layout.of(torch.full((sequences,), LENGTH)), few, few, few)
    saved = {}

    def note(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor), torch.autocast("cpu", torch.bfloat16):
        losses = sum(model.losses(batch))
    assert losses > 0  # what was saved is alive until here
    return sum(saved.values())


def test_a_layer_keeps_what_is_counted():
    sizes = {"model.hidden": 192, "model.intermediate": 768, "model.heads": 3, "model.dropout": 0.1}
    found = {
        (layers, sequences): saved_bytes(tiny_params(sizes | {"model.layers": layers}).model, sequences)
        for layers in (1, 2)
        for sequences in (2, 6)
    }
    # Bfloat16 copies of a layer's weights are as large for two sequences as for six.
    more = (found[2, 6] - found[1, 6]) - (found[2, 2] - found[1, 2])
    assert more / (4 * LENGTH) == pytest.approx(activation_bytes(tiny_params(sizes).model, LENGTH), rel=0.01)


def test_a_full_batch_costs_what_its_tokens_do():
    params = tiny_params().model
    once, twice = (training_flops(params, VOCAB_SIZE, full_batch(examples, 24, 0.15)) for examples in (4, 8))
    assert twice == 2 * once
    batch = full_batch(4, 24, 0.15)
    assert (batch.tokens, len(batch.masked_labels)) == (96, 4 * 3)
    assert np.all(batch.attention_mask)


def test_the_page_shows_these_tables():
    printed = subprocess.run(
        [sys.executable, "-m", "benchmarks.estimate"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert printed in (ROOT / "docs" / "bert-base.md").read_text(encoding="utf-8")
