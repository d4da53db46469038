"""Work in processes that are killed at the worst moment; limits are tested with the reader of dumps."""

import ast
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from maskline.core.processes import in_order
from tests.project import ROOT

LARGE = 20 << 20
"""Bytes of a result: many times what a pipe holds, so that writing it waits for whoever reads."""


def large(item):
    return bytes([item]) * LARGE


def slowly(item):
    time.sleep(0.3 if item else 0)
    return os.getpid(), large(item)


def test_a_process_killed_while_it_writes_costs_its_item_alone():
    before = set(psutil.Process().children())
    results = in_order(slowly, [[number] for number in range(12)], 2, ahead=6)
    number, (first, _) = next(results)  # the other process is at an item, and nobody reads what it writes
    assert number == 0
    others = [child for child in psutil.Process().children() if child not in before and child.pid != first]
    deadline = time.monotonic() + 60
    while rss(busy := max(others, key=rss)) < LARGE:
        assert time.monotonic() < deadline
    time.sleep(1)  # it writes by now
    busy.kill()
    found = dict(results)
    assert list(found) == list(range(1, 12))
    assert list(found.values()).count(None) == 1
    assert all(result is None or result[1] == large(number) for number, result in found.items())


def rss(worker):
    return worker.memory_info().rss


@pytest.mark.parametrize("workers", [1, 3])
def test_without_limits_results_are_in_order(workers):
    batches = [[0, 1], [2], [], [3, 4, 5]]
    assert [item for item, result in in_order(large, batches, workers, ahead=1) if result == large(item)] == [*range(6)]


def blocked(item):
    time.sleep(0.2)  # so that each process has an item
    return os.getpid(), signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


FRESH = """\
from maskline.core.processes import in_order
from tests.core.test_processes import blocked

if __name__ == "__main__":
    print(sorted({result for _, result in in_order(blocked, [[number] for number in range(6)], 2, ahead=3)}))
"""


def test_no_process_hears_ctrl_c_not_even_the_first(tmp_path):
    (tmp_path / "fresh.py").write_text(FRESH)
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    command = [sys.executable, str(tmp_path / "fresh.py")]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    found = ast.literal_eval(done.stdout)
    assert [mute for _, mute in found] == [True, True]
