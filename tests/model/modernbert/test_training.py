"""Pretraining of ModernBERT by the loop."""

import torch
import transformers

from maskline.core.storage import read_csv, read_json
from maskline.model.directory import load_pretraining_model
from maskline.pretraining.run import pretrain
from tests.tiny import MODERNBERT, tiny_params
from tests.training.runs import CPU, Objective, newest_state, pretraining_paths, run, run_in_parts, same

CHANGES = MODERNBERT | {"model.dropout": 0.1, "pretrain.warmup_steps": 2}


def test_an_interrupted_run_equals_an_uninterrupted_one_bit_for_bit(data, tmp_path):
    params = tiny_params(CHANGES | {"pretrain.precision": "bf16"}).pretraining()
    whole = run(Objective(data, params), params, tmp_path / "whole")
    parts = run_in_parts(lambda stop: Objective(data, params, stop), params, tmp_path / "parts", 5)
    assert same(newest_state(tmp_path / "whole"), newest_state(tmp_path / "parts"))
    assert same(whole.best_weights, parts.best_weights)


def test_a_run_leaves_a_model_that_transformers_loads_and_learns(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    params = tiny_params(
        CHANGES
        | {"model.neighbour_heads": 2, "pretrain.steps": 30, "pretrain.peak_lr": 0.03, "pretrain.evaluate_every": 15}
    )
    found = pretraining_paths(data)
    paths = type(found)(found.tokens, found.validation, found.tokenizer, *(tmp_path / n for n in ("a", "b", "c")))
    pretrain(params.pretraining(), paths, CPU)
    metrics = read_json(paths.reports / "metrics.json")
    assert metrics["last"]["nsp_loss"] is None
    assert metrics["labelled_pairs"] == 0
    rows = read_csv(paths.reports / "train.csv")
    assert float(rows[-1]["mlm_loss"]) < float(rows[0]["mlm_loss"]) - 0.2
    card = (paths.best / "README.md").read_text()
    assert "tags: [modernbert, maskline]" in card
    assert (
        "A ModernBERT encoder pretrained from scratch by maskline on masked language modelling alone. Load it" in card
    )
    peer = transformers.AutoModelForMaskedLM.from_pretrained(paths.best)
    ours = load_pretraining_model(paths.best)
    assert metrics["parameters"] == sum(parameter.numel() for parameter in ours.parameters())
    assert metrics["parameters"] == sum(parameter.numel() for parameter in peer.parameters())
    assert torch.equal(peer.decoder.bias, ours.mlm.decoder.bias)
