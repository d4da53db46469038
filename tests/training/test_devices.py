import numpy as np
import pytest
import torch

from maskline.core.errors import UserError
from maskline.model.bert.encoder import Encoder
from maskline.training import devices
from maskline.training.devices import (
    autocast,
    check_memory,
    choose_device,
    choose_precision,
    describe,
    keyed_noise,
    memory_explained,
)
from tests.tiny import tiny_params


def compute(device, threads=0):
    return tiny_params({"compute.device": device, "compute.threads": threads}).compute


@pytest.fixture(name="machine")
def _machine(monkeypatch):
    """Return a function that pretends a number of CUDA devices and whether there is MPS."""

    def pretend(cuda=0, *, mps=False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return pretend


@pytest.mark.parametrize(
    ("cuda", "mps", "name", "local_rank", "expected"),
    [
        (0, False, "auto", 0, "cpu"),
        (0, True, "auto", 0, "mps"),
        (2, True, "auto", 0, "cuda:0"),
        (2, False, "auto", 1, "cuda:1"),
        (2, False, "cuda", 1, "cuda:1"),
        (2, False, "cuda:1", 0, "cuda:1"),
        (2, True, "cpu", 0, "cpu"),
        (0, True, "mps", 0, "mps"),
    ],
)
def test_a_device_is_chosen_by_name_or_the_best_there_is(machine, cuda, mps, name, local_rank, expected):
    machine(cuda, mps=mps)
    assert choose_device(compute(name), local_rank) == torch.device(expected)


@pytest.mark.parametrize(("cuda", "name"), [(0, "cuda"), (0, "cuda:0"), (2, "cuda:2"), (0, "mps")])
def test_a_device_that_is_not_there_is_told_not_replaced(machine, cuda, name):
    machine(cuda)
    with pytest.raises(UserError, match=f"^compute.device is {name}, which this machine does not have: use auto or"):
        choose_device(compute(name))


def test_threads_are_set_where_they_are_given(monkeypatch):
    calls = []
    monkeypatch.setattr(torch, "set_num_threads", calls.append)
    choose_device(compute("cpu", threads=0))
    choose_device(compute("cpu", threads=3))
    assert calls == [3]
    assert describe(torch.device("cpu")) == f"cpu ({torch.get_num_threads()} threads)"


def test_noise_depends_on_its_key_and_leaves_the_global_generator_alone():
    cpu = torch.device("cpu")
    before = torch.get_rng_state()
    draws = []
    for seed in (1, 2, 1):
        with keyed_noise(cpu, seed):
            draws.append(torch.rand(5))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(draws[0], draws[2])
    assert not torch.equal(draws[0], draws[1])

    def failing():
        with keyed_noise(cpu, 3):
            torch.rand(5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("capabilities", "chosen"),
    [({"avx512_bf16": True}, "bf16"), ({"amx_bf16": True}, "bf16"), ({"avx512_f": True, "avx512_bf16": False}, "fp32")],
)
def test_auto_takes_bf16_where_the_cpu_has_instructions_for_it(capabilities, chosen, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    assert choose_precision("auto", torch.device("cpu")) == chosen
    for asked in ("bf16", "fp32"):
        assert choose_precision(asked, torch.device("cpu")) == asked
    assert choose_precision("auto", torch.device("mps")) == "fp32"


def test_bf16_computes_products_in_bfloat16_and_keeps_weights_in_float32():
    layer = torch.nn.Linear(4, 4)
    for precision, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        with autocast(torch.device("cpu"), precision):
            assert layer(torch.ones(1, 4)).dtype == dtype
    assert layer.weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("ask", "more"),
    [
        (lambda: torch.empty(1 << 60), " (4611686018427387904 bytes more)"),  # refused by the CPU's allocator itself
        (lambda: np.empty(1 << 50), " (8.00 PiB more)"),
        (lambda: refuse(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB.")), " (20 GiB more)"),
        (lambda: refuse(RuntimeError("MPS backend out of memory (MPS allocated: 8.00 GB)")), ""),
        (lambda: refuse(MemoryError()), ""),
    ],
)  # fmt: skip
def test_a_lack_of_memory_is_one_line_with_the_way_out(ask, more):
    with pytest.raises(UserError) as error, memory_explained():
        ask()
    assert (
        str(error.value)
        == f"out of memory{more}: lower micro_batch, which cuts a step into more parts, or max_seq_length"
    )


@pytest.mark.parametrize("error", [RuntimeError("shapes cannot be multiplied"), ValueError("allocate memory")])
def test_another_error_is_no_lack_of_memory(error):
    with pytest.raises(type(error), match=str(error)), memory_explained():
        refuse(error)


def refuse(error):
    raise error


@pytest.mark.parametrize(
    ("load", "threads", "device", "told"),
    [(3.1, 2, "cpu", True), (2.9, 2, "cpu", False), (9.0, 1, "cpu", False), (9.0, 2, "cuda", False)],
)
def test_other_work_at_the_cores_is_told(monkeypatch, load, threads, device, told):
    monkeypatch.setattr(devices.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(devices.os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    line = "other work is at the 2 cores (load 3.1): a run with fewer compute.threads may be faster"
    assert devices.crowding(torch.device(device)) == (line if told else None)


@pytest.mark.parametrize("name", ["auto", "cpu", "cuda", "mps"])
def test_threads_are_set_whatever_the_device(machine, monkeypatch, name):
    machine(1, mps=True)
    calls = []
    monkeypatch.setattr(torch, "set_num_threads", calls.append)
    choose_device(compute(name, threads=3))
    assert calls == [3]


@pytest.mark.parametrize("changes", [{"hidden": 2**16}, {"layers": 1_000, "intermediate": 2**18, "hidden": 2**15}])
def test_a_model_without_room_for_its_weights_is_told_before_it_is_built(changes):
    params = tiny_params().model
    check_memory(params, 97)
    with pytest.raises(
        UserError, match=r"has [\d,]{12,} weights, which take [\d,]+ GB, and this machine has \d+: lower"
    ):
        check_memory(params.model_copy(update={"layers": 100, **changes}), 97)


def test_the_weights_that_are_counted_are_those_of_the_encoder():
    params = tiny_params().model
    encoder = Encoder(params, 97)
    matrices = [
        p for name, p in encoder.named_parameters() if p.dim() == 2 and "segment" not in name and "pooler" not in name
    ]
    assert params.matrix_weights(97) == sum(p.numel() for p in matrices)
