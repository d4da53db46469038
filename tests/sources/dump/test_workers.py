import os
import re
import time
from collections.abc import Iterator

import pytest

from maskline.core.errors import UserError
from maskline.sources.dump.workers import AHEAD, in_order


def work(item):
    """Do what the item says; a function of a module, as the processes import it."""
    what, _, rest = item.partition(" ")
    match what:
        case "hang":
            while True:
                pass
        case "search":
            return bool(re.match("(a+)+$", "a" * 60 + "b"))
        case "eat":
            return len(bytearray(1 << 40))
        case "grow":
            held = []
            while True:
                held.append("x" * (1 << 20))
        case "die":
            os._exit(3)
        case "raise":
            raise ValueError(rest)
        case "sleep":
            time.sleep(float(rest))
    return item.upper()


def batches(items, size) -> Iterator[list[str]]:
    return (items[i : i + size] for i in range(0, len(items), size))


def test_results_are_in_order_whatever_takes_long():
    items = [f"sleep {0.2 if i in {0, 7} else 0}" for i in range(40)]
    found = list(in_order(work, batches(items, 3), 2))
    assert found == [(item, item.upper()) for item in items]


@pytest.mark.parametrize("fault", ["hang", "search", "eat", "grow", "die", "raise x"])
def test_an_item_costs_itself_alone(fault, capfd):
    items = [f"word {i}" for i in range(20)]
    items[5] = fault
    found = list(in_order(work, batches(items, 4), 2, seconds=0.3, memory_bytes=1 << 29))
    assert found == [(item, None if item == fault else item.upper()) for item in items]


def test_waiting_does_not_count_as_work():
    found = list(in_order(work, [["sleep 0.6"]], 1, seconds=0.2))
    assert found == [("sleep 0.6", "SLEEP 0.6")]


def test_only_so_many_batches_are_read_ahead():
    read = 0

    def stream():
        nonlocal read
        for read in range(1, 60):
            yield [f"word {read}"]

    for done, _ in enumerate(in_order(work, stream(), 2), 1):
        assert read - done <= AHEAD * 2


def test_nothing_to_do_and_a_consumer_that_stops():
    assert list(in_order(work, [], 2)) == []
    results = in_order(work, batches(["hang"] * 4, 1), 2, seconds=60)
    results.close()
    results = in_order(work, batches(["a", "hang", "hang"], 1), 2, seconds=60)
    assert next(results) == ("a", "A")
    results.close()  # ends the processes that hang


class Unloadable:
    def __call__(self, item): ...

    def __reduce__(self):
        return os._exit, (4,)


def test_a_process_that_cannot_start_is_told():
    with pytest.raises(UserError, match=r"does not start \(exit 4\).*compute\.workers"):
        list(in_order(Unloadable(), [["a"]], 1))
