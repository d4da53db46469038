from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import gpu, training_step
from benchmarks.flops import SIZES, fastest_product, training_flops
from benchmarks.ours import objective
from benchmarks.synthetic import write_data
from benchmarks.training_step import BASE, DEFAULT, LARGE_VOCABULARY, Cell, Contest, measure
from tests.tiny import tiny_params
from tests.tiny import write_data as write_tiny_data

CPU = torch.device("cpu")
SMALL = Cell(
    "small",
    {
        "model": {"layers": 1, "hidden": 16, "heads": 2, "intermediate": 32},
        "pretrain": {"max_seq_length": 28, "global_batch": 4, "micro_batch": 4, "optimizer": "adamw"},
    },
    vocab_size=97,
    updates={"ours": 2},
    targets={"HF": 1.0, "plain": 1.0, "positions": 1.0},
)


@pytest.fixture(autouse=True)
def _small_products(monkeypatch):
    monkeypatch.setitem(SIZES, "cpu", (8, 16))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_cell_gives_a_row_for_every_peer(precision):
    sections = {**SMALL.sections, "pretrain": SMALL.sections["pretrain"] | {"precision": precision}}
    rows = measure(replace(SMALL, sections=sections), CPU, repetitions=2)
    named = {row.peer: row for row in rows}
    assert named.keys() == {"HF", "plain", "positions"} | ({"HF at our precision"} if precision == "bf16" else set())
    assert named.pop("HF").note == f"ours: adamw, {precision}"
    assert all(row.ratio > 0 and len(row.series[0].values) == 2 for row in rows)
    if precision == "bf16":
        assert named["HF at our precision"].met is None


def test_the_default_cell_is_the_reference_run_beside_the_real_trainer(tmp_path, monkeypatch):
    monkeypatch.setattr(training_step, "reference_data", lambda: write_tiny_data(tmp_path))
    monkeypatch.setattr(training_step, "TRAINER_UPDATES", 2)
    monkeypatch.setattr(training_step, "TRAINER_WARMUP", 1)
    small = replace(
        DEFAULT,
        sections={"model": {"hidden": 16}, "pretrain": {"global_batch": 6, "micro_batch": 6, "max_seq_length": 24}},
        updates={},
    )
    monkeypatch.setattr(training_step, "DEFAULT", small)
    rows = measure(small, CPU, repetitions=2)
    assert [row.peer for row in rows if row.target] == ["HF", "plain", "positions"]
    assert rows[-1].peer == "HF by hand over its Trainer"
    assert rows[-1].ratio > 0


def test_the_share_of_the_peak_is_model_flops_over_a_matrix_product(tmp_path):
    contest = Contest(SMALL, CPU, tmp_path)
    turn = contest.contenders()["ours"]
    assert turn() == 2 * 4 * 28  # no padding
    ours, peak = (training_step.Series("", "tokens/s", (rate,) * 2) for rate in (100.0, 1e9))
    row = contest.against_peak(ours, peak)
    batch = contest.ours.objective.microbatches(0)[0]
    per_token = training_flops(contest.params.model, 97, batch) / batch.tokens
    assert row.series[0].median == pytest.approx(100 * per_token)
    assert row.ratio == pytest.approx(100 * per_token / 1e9)
    assert row.target == 0.6


def test_the_cells_are_those_that_were_asked_for():
    large, base = LARGE_VOCABULARY.params(), BASE.params()
    assert (large.model.layers, large.model.hidden, large.model.heads, large.model.intermediate) == (4, 128, 4, 512)
    assert (LARGE_VOCABULARY.vocab_size, large.pretrain.global_batch, large.pretrain.max_seq_length) == (64000, 32, 128)
    assert (base.model.layers, base.model.hidden, base.model.heads, base.model.intermediate) == (12, 768, 12, 3072)
    assert (BASE.vocab_size, base.pretrain.global_batch, base.pretrain.max_seq_length) == (30522, 8, 128)
    assert DEFAULT.sections == {}


def test_the_operations_are_those_of_the_matrix_products(tmp_path):
    """torch counts the same in a plain model that has the labelled positions alone, and no padding."""
    from benchmarks.peers.peer import Recipe
    from benchmarks.peers.positions import Positions
    from maskline.tokenization.load import load_tokenizer

    params = tiny_params({"pretrain.max_seq_length": 28, "premask.max_seq_length": 28, "pretrain.precision": "fp32"})
    data = write_data(tmp_path, params, 97, documents=12)
    batch = objective(params, data, CPU).microbatches(0)[0]
    assert batch.attention_mask.all()
    special = load_tokenizer(data / "tokenizer").special
    peer = Positions(params, 97, special, Recipe(), CPU)
    masked = len(batch.masked_labels) // len(batch.input_ids)
    shape = (len(batch.input_ids), masked)
    laid_out = {
        "input_ids": torch.from_numpy(batch.input_ids),
        "token_type_ids": torch.from_numpy(batch.token_type_ids),
        "valid_lengths": torch.full((len(batch.input_ids),), batch.input_ids.shape[1]),
        "positions": torch.zeros(shape, dtype=torch.long),
        "weights": torch.ones(shape),
        "labels": torch.zeros(shape, dtype=torch.long),
        "next_sentence_label": torch.zeros(len(batch.input_ids), dtype=torch.long),
    }
    with FlopCounterMode(display=False) as counter:
        peer.loss(laid_out).backward()
    assert training_flops(params.model, 97, batch) == counter.get_total_flops()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_peak_is_one_of_the_products(precision):
    assert fastest_product(CPU, precision)() in {2.0 * size**3 for size in (8, 16)}


def test_base_is_held_against_the_peak_in_the_same_turns(monkeypatch):
    monkeypatch.setattr(training_step, "BASE", SMALL)
    rows = measure(SMALL, CPU, repetitions=2)
    assert rows[-1].peer.startswith("fastest matrix product, ")
    assert [series.unit for series in rows[-1].series] == ["FLOP/s", "FLOP/s"]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_gpu_script_takes_the_same_path_on_a_cpu(precision):
    sections = {**SMALL.sections, "pretrain": SMALL.sections["pretrain"] | {"precision": precision}}
    found = gpu.measure(gpu.sized(replace(SMALL, sections=sections), 3), CPU, repetitions=1)
    assert (found.precision, found.peak_bytes) == (precision, None)
    assert found.tokens_per_second > 0
    assert (found.ratio_to_hf_at_our_precision is None) == (precision == "fp32")
    assert f"small ({precision}): " in gpu.line(found)
    assert "GiB" in gpu.line(replace(found, peak_bytes=2**30))


def test_the_gpu_script_writes_its_numbers(tmp_path, monkeypatch, capsys):
    for name in ("TINY", "LARGE_VOCABULARY", "BASE"):
        monkeypatch.setattr(gpu, name, replace(SMALL, subject=name))
    monkeypatch.setattr(gpu, "REPETITIONS", 1)
    monkeypatch.setattr(gpu, "UPDATES", 1)
    gpu.main(device="cpu", batch=3, report=tmp_path / "gpu.json")
    assert capsys.readouterr().out.count("x HF") == 3
    content = (tmp_path / "gpu.json").read_text()
    assert content.count("tokens_per_second") == 3
