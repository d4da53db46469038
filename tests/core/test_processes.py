"""Work in processes that are killed at the worst moment; limits are tested with the reader of dumps."""

import os
import time

import psutil
import pytest

from maskline.core.processes import in_order

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
