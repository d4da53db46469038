"""Who is computed with whom, and when."""

import threading

import pytest

from maskline.serving.batches import Batcher, Request
from maskline.serving.refusals import BusyError, UnavailableError
from tests.serving.conftest import SECONDS, until


class Model:
    """Doubles numbers, and waits before each batch until the test opens the gate."""

    def __init__(self):
        self.batches = []
        self.gate = threading.Semaphore(0)

    def __call__(self, inputs):
        assert self.gate.acquire(timeout=SECONDS)
        self.batches.append(list(inputs))
        if -1 in inputs:
            raise ValueError("a bad input")
        return [2 * one for one in inputs]

    def open(self, times=100):
        self.gate.release(times)


@pytest.fixture(name="model")
def _model():
    return Model()


@pytest.fixture(name="batcher")
def _batcher(model):
    batcher = Batcher(most_waiting=20, batch_tokens=8)
    yield batcher
    model.open()
    batcher.close()


def ask(batcher, model, inputs, size=1, key="double"):
    return batcher.ask(Request(key, model, inputs, [size] * len(inputs)))


def busy(batcher, model):
    """Let the thread begin a batch, so that what comes next waits."""
    answer = ask(batcher, model, [0])
    until(lambda: not batcher.waiting)
    return answer


def test_what_waits_is_computed_together(batcher, model):
    first = busy(batcher, model)
    others = [ask(batcher, model, [number], size=3) for number in (1, 2, 3)]
    model.open()
    assert first.result(SECONDS) == [0]
    assert [other.result(SECONDS) for other in others] == [[2], [4], [6]]
    assert model.batches == [[0], [1, 2], [3]]  # 3 tokens each, of 8


def test_a_large_request_takes_turns_with_small_ones(batcher, model):
    busy(batcher, model)
    large = ask(batcher, model, [*range(10, 14)], size=4)
    small = ask(batcher, model, [1])
    model.open()
    assert large.result(SECONDS) == [20, 22, 24, 26]
    assert small.result(SECONDS) == [2]
    assert model.batches == [[0], [10, 11], [1, 12], [13]]


def test_an_input_that_is_larger_than_a_batch_is_one(batcher, model):
    busy(batcher, model)
    answers = [ask(batcher, model, [1], size=9), ask(batcher, model, [2])]
    model.open()
    assert [answer.result(SECONDS) for answer in answers] == [[2], [4]]
    assert model.batches == [[0], [1], [2]]


def test_those_of_another_key_wait_for_the_next_batch(batcher, model):
    busy(batcher, model)
    answers = [ask(batcher, model, [1]), ask(batcher, model, [2], key="other"), ask(batcher, model, [3])]
    model.open()
    assert [answer.result(SECONDS) for answer in answers] == [[2], [4], [6]]
    assert model.batches == [[0], [1, 3], [2]]


def test_what_is_cancelled_leaves_the_queue_and_is_not_computed(batcher, model):
    busy(batcher, model)
    gone, stays = ask(batcher, model, [1], size=5), ask(batcher, model, [2], size=5)
    assert batcher.waiting == 10
    assert gone.cancel()
    assert batcher.waiting == 5
    model.open()
    assert stays.result(SECONDS) == [4]
    assert model.batches == [[0], [2]]


def test_what_is_cancelled_in_its_midst_is_computed_no_further(batcher, model):
    large = ask(batcher, model, [*range(12)], size=4)
    until(lambda: batcher.waiting == 40)
    large.cancel()
    model.open()
    assert ask(batcher, model, [50]).result(SECONDS) == [100]
    assert model.batches == [[0, 1], [50]]


def test_only_the_one_at_fault_has_no_answer(batcher, model):
    first = busy(batcher, model)
    good, bad, large = ask(batcher, model, [1]), ask(batcher, model, [-1]), ask(batcher, model, [3])
    model.open()
    assert first.result(SECONDS) == [0]
    assert (good.result(SECONDS), large.result(SECONDS)) == ([2], [6])
    with pytest.raises(ValueError, match="a bad input"):
        bad.result(SECONDS)
    assert ask(batcher, model, [7]).result(SECONDS) == [14]


def test_more_than_may_wait_is_refused_but_not_where_nothing_waits(batcher, model):
    busy(batcher, model)
    ask(batcher, model, [1], size=30)
    with pytest.raises(BusyError) as refused:
        ask(batcher, model, [2])
    assert refused.value.status == 429
    assert int(refused.value.headers["retry-after"]) >= 1


def test_the_time_to_wait_is_that_of_what_waits():
    told = []
    batcher = Batcher(20, computed=lambda *batch: told.append(batch))
    gate = threading.Event()
    assert batcher.ask(Request("", lambda inputs: inputs, [1, 2], [3, 4])).result(SECONDS) == [1, 2]
    until(lambda: told)
    assert told[0][:2] == (2, 7)
    batcher._speed = 10.0
    batcher.ask(Request("slow", lambda _: [gate.wait(SECONDS)], [1], [1]))
    until(lambda: not batcher.waiting)
    batcher.ask(Request("", lambda inputs: inputs, [1], [45]))
    with pytest.raises(BusyError, match="ask again in 5 s"):
        batcher.ask(Request("", lambda inputs: inputs, [1], [1]))
    gate.set()
    batcher.close()


def test_after_the_end_nothing_is_taken(model):
    batcher = Batcher(20)
    busy(batcher, model)
    left = ask(batcher, model, [1])
    model.open()
    batcher.close()
    assert left.cancelled() or left.done()
    with pytest.raises(UnavailableError):
        ask(batcher, model, [2])


def test_a_batch_is_counted_before_its_answers_go_out(model):
    answered = []
    batcher = Batcher(most_waiting=20, computed=lambda *_: answered.append(asked.done()))
    asked = ask(batcher, model, [1, 2])
    model.open()
    assert asked.result(SECONDS) == [2, 4]
    batcher.close()
    assert answered == [False]
