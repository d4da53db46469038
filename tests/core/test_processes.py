"""Work in processes that are killed at the worst moment; limits are tested with the reader of dumps."""

import time

import psutil
import pytest

from maskline.core.processes import in_order

LARGE = 20 << 20
"""Bytes of a result: many times what a pipe holds, so that writing it waits for whoever reads."""


def large(item):
    return bytes([item]) * LARGE


def test_a_process_killed_while_it_writes_costs_its_item_alone():
    before = set(psutil.Process().children())
    results = in_order(large, [[number] for number in range(6)], 2, ahead=2)
    assert next(results) == (0, large(0))
    workers = [worker for worker in psutil.Process().children() if worker not in before]
    deadline = time.monotonic() + 60
    while max(workers, key=rss).memory_info().rss < LARGE:
        assert time.monotonic() < deadline
    time.sleep(0.5)  # it writes by now, and nobody reads
    max(workers, key=rss).kill()
    found = dict(results)
    assert list(found) == [1, 2, 3, 4, 5]
    assert [number for number in found if found[number] is None] in ([1], [2])
    assert all(result in {None, large(number)} for number, result in found.items())


def rss(worker):
    return worker.memory_info().rss


@pytest.mark.parametrize("workers", [1, 3])
def test_without_limits_results_are_in_order(workers):
    batches = [[0, 1], [2], [], [3, 4, 5]]
    assert [item for item, result in in_order(large, batches, workers, ahead=1) if result == large(item)] == [*range(6)]
