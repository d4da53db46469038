import multiprocessing
import os
import shutil

import pytest
import torch

from maskline.core.errors import UserError
from maskline.training.devices import choose_loaders, place
from maskline.training.prefetch import prepared
from tests.tiny import tiny_params
from tests.training.runs import Objective, newest_state, run, same


@pytest.mark.parametrize("loaders", [0, 1, 2])
def test_steps_come_in_order_from_whichever_process(loaders):
    before = torch.get_rng_state()
    steps = list(prepared(lambda step: [step, os.getpid()], [range(5, 17)], loaders))
    assert [step for step, _ in steps] == list(range(5, 17))
    processes = {process for _, process in steps}
    assert len(processes) == max(1, loaders)
    assert (os.getpid() in processes) == (loaders == 0)
    assert torch.equal(torch.get_rng_state(), before)


def test_nothing_is_left_to_prepare():
    assert list(prepared(lambda step: [step], [range(3, 3)], 2)) == []


def test_a_run_is_the_same_bit_for_bit_however_many_processes_prepare_it(data, tmp_path):
    params = tiny_params({"model.dropout": 0.1, "pretrain.optimizer": "muon"}).pretraining()
    alone = run(Objective(data, params), params, tmp_path / "0")
    ahead = run(Objective(data, params), params, tmp_path / "2", loaders=2)
    assert ahead.progress.train == alone.progress.train
    assert ahead.progress.validation == alone.progress.validation
    assert same(newest_state(tmp_path / "2"), newest_state(tmp_path / "0"))


def test_an_interrupted_run_goes_on_with_another_number_of_processes(data, tmp_path):
    params = tiny_params({"model.dropout": 0.1}).pretraining()
    whole = run(Objective(data, params), params, tmp_path / "whole", loaders=2)
    with pytest.raises(UserError, match="interrupted after step 5 of"):
        run(Objective(data, params, interrupt_at=5), params, tmp_path / "parts")
    parts = run(Objective(data, params), params, tmp_path / "parts", loaders=1)
    assert parts.progress.train == whole.progress.train
    assert same(newest_state(tmp_path / "parts"), newest_state(tmp_path / "whole"))


def test_a_system_that_cannot_fork_is_told_so(monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert list(prepared(lambda step: [step], [range(2)], 0)) == [[0], [1]]
    with pytest.raises(UserError, match="set it to 0"):
        prepared(lambda step: [step], [range(2)], 1)


@pytest.mark.parametrize(
    ("device", "asked", "cores", "chosen"),
    [("cpu", None, 8, 0), ("cuda", None, 8, 4), ("cuda", None, 3, 3), ("cuda", 0, 8, 0), ("cpu", 2, 8, 2)],
)
def test_by_default_batches_are_prepared_ahead_for_a_gpu_alone(device, asked, cores, chosen, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    compute = tiny_params({"compute.loaders": asked}).compute
    assert choose_loaders(compute, torch.device(device)) == chosen


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:The .grad attribute")  # of torch's own compiler
@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a compiler of C++")
def test_compiled_layers_compute_the_same(data):
    params = tiny_params({"model.layers": 1, "model.dropout": 0.0}).pretraining()
    losses, gradients = [], []
    for compiled in (False, True):
        objective = Objective(data, params)
        place(objective.model, params.compute.model_copy(update={"compile": compiled}), torch.device("cpu"))
        assert all(bool(layer._compiled_call_impl) == compiled for layer in objective.model.encoder.layers)
        for step in range(2):  # batches of two sizes, one graph
            found = objective.losses(objective.microbatches(step)[0])
            sum(found.values()).backward()
            losses.append([loss.item() for loss in found.values()])
        gradients.append({name: parameter.grad for name, parameter in objective.model.named_parameters()})
    assert losses[2:] == [pytest.approx(loss, rel=1e-5) for loss in losses[:2]]
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, atol=1e-4, rtol=1e-4)
